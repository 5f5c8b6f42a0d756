"""Which workflow is meant: `FILE.py:NAME`, `MODULE:NAME`, or the name of one of the installed ones."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from koala.errors import InvalidArguments, UnknownWorkflow
from koala.workflow import Registry, Workflow, load


@dataclass(frozen=True)
class Target:
    """A workflow, the modules it is found in, and all that these declare."""

    workflow: Workflow
    modules: str
    registry: Registry


def find(text: str, installed: list[str]) -> Target:
    """The workflow that `text` names, imported. A file's folder is put on the path, for the child too.

    Raises InvalidArguments, UnknownWorkflow, WorkflowsError.
    """
    place, colon, name = text.rpartition(":")
    if not colon:
        registry = load(installed)
        return Target(registry.newest(name), ",".join(installed), registry)
    module = _module_of(Path(place)) if place.endswith(".py") else place
    registry = load([module])
    return Target(_named(registry, module, name), module, registry)


def _module_of(file: Path) -> str:
    """The module's name as its file would be imported from the folder above its packages."""
    if not file.is_file():
        raise InvalidArguments(f"there is no file {file}")
    folder, parts = file.resolve().parent, [file.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    if not all(part.isidentifier() for part in parts):
        raise InvalidArguments(f"{file.name} cannot be imported: name it like a Python module, such as shop.py")
    module = ".".join(parts)
    _put_on_path(folder)
    _refuse_shadowed(module, file)
    return module


def _put_on_path(folder: Path) -> None:
    sys.path.insert(0, str(folder))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *([before] if before else [])])


def _refuse_shadowed(module: str, file: Path) -> None:
    """Raise InvalidArguments where another module of that name was imported already: the child would get that one."""
    other = getattr(sys.modules.get(module), "__file__", None)
    if module in sys.modules and (other is None or Path(other).resolve() != file.resolve()):
        raise InvalidArguments(f"{file.name} has the name of another module, {module}: rename it")


def _named(registry: Registry, module: str, name: str) -> Workflow:
    """The workflow that a variable of the module holds, or that is called so."""
    held = getattr(sys.modules[module], name, None)
    if isinstance(held, Workflow):
        return held
    known = sorted({item.name for item in registry})
    if name in known:
        return registry.newest(name)
    raise UnknownWorkflow(f"{module} has no workflow {name!r}; it has {', '.join(known)}")
