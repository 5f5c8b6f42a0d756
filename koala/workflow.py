"""Workflows: what an author declares, and which of them a program knows."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from koala import names
from koala.errors import InvalidArguments, UnknownWorkflow, WorkflowsError, told
from koala.units import minutes

if TYPE_CHECKING:
    from koala.run import Run

ProfileUse = Literal["required", "optional", "none"]


class NoArgs(BaseModel):
    """The arguments of a workflow that takes none."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Limits:
    """Caps of one task: `runtime` of one attempt, and `attempts` that may fail."""

    runtime: timedelta = field(default_factory=lambda: minutes(5))
    attempts: int = 3

    def __post_init__(self) -> None:
        if self.runtime <= timedelta(0) or self.attempts < 1:
            raise WorkflowsError("limits need a runtime above zero and at least one attempt")


@dataclass(frozen=True)
class Workflow:
    """A declared workflow. Made by `workflow`; calling it calls the author's function."""

    name: str
    version: int
    args: type[BaseModel]
    profile: ProfileUse
    limits: Limits
    accepts: frozenset[int]
    function: Callable[[Run, Any], Awaitable[Any]]

    def __call__(self, run: Run, args: Any) -> Awaitable[Any]:
        return self.function(run, args)

    @property
    def kinds(self) -> list[str]:
        """Each `name@version` whose tasks it can run."""
        return [f"{self.name}@{version}" for version in sorted({self.version, *self.accepts})]

    def check_args(self, given: dict[str, Any]) -> BaseModel:
        """The validated arguments. Raises InvalidArguments naming each wrong field, without its value."""
        try:
            return self.args.model_validate(given)
        except ValidationError as error:
            faults = [
                f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
                for item in error.errors(include_input=False, include_url=False)
            ]
            raise InvalidArguments(f"the arguments do not fit {self.name}: " + "; ".join(faults)) from None

    def check_profile(self, profile: str) -> str:
        """The profile's name, checked against what the workflow needs. Raises InvalidArguments or InvalidName."""
        if self.profile == "required" and not profile:
            raise InvalidArguments(
                f"{self.name} needs a profile: name one, `profile=NAME` in a program, `--profile NAME` in a command "
                "(`koala profile list` shows them; with --laptop those of `koala run`)"
            )
        if self.profile == "none" and profile:
            raise InvalidArguments(f"{self.name} takes no profile: leave it out")
        return names.check("profile", profile) if profile else ""


def workflow(
    name: str,
    *,
    version: int = 1,
    args: type[BaseModel] = NoArgs,
    profile: ProfileUse = "none",
    limits: Limits | None = None,
    accepts: Iterable[int] = (),
) -> Callable[[Callable[[Run, Any], Awaitable[Any]]], Workflow]:
    """Declare an async function as a workflow. `accepts` are older versions whose tasks it still runs."""
    names.check("workflow", name)
    if version < 1:
        raise WorkflowsError(f"workflow {name} has version {version}: versions begin with 1")
    older = frozenset(accepts)
    if not all(1 <= item < version for item in older):
        raise WorkflowsError(f"workflow {name} version {version} accepts {sorted(older)}: only older ones can be")
    if not issubclass(args, BaseModel):
        raise WorkflowsError(f"workflow {name} says args={args!r}: use a pydantic model")
    if profile not in get_args(ProfileUse):
        raise WorkflowsError(f"workflow {name} says profile={profile!r}: use required, optional or none")

    def declare(function: Callable[[Run, Any], Awaitable[Any]]) -> Workflow:
        if not inspect.iscoroutinefunction(function):
            raise WorkflowsError(f"workflow {name} must be an `async def` function")
        return Workflow(name, version, args, profile, limits or Limits(), older, function)

    return declare


class Registry:
    """The workflows that a program knows."""

    def __init__(self, known: Iterable[Workflow] = ()) -> None:
        self._by_kind: dict[tuple[str, int], Workflow] = {}
        self._newest: dict[str, Workflow] = {}
        for item in known:
            self.add(item)

    def add(self, item: Workflow) -> None:
        """Know one more. Raises WorkflowsError when another has its name and version."""
        held = self._by_kind.get((item.name, item.version))
        if held and held is not item:
            raise WorkflowsError(
                f"two workflows are named {item.name} version {item.version} ("
                f"{held.function.__module__} and {item.function.__module__}): rename one or raise its version"
            )
        self._by_kind[item.name, item.version] = item
        if item.name not in self._newest or self._newest[item.name].version < item.version:
            self._newest[item.name] = item

    def newest(self, name: str) -> Workflow:
        """The newest version of a workflow. Raises UnknownWorkflow listing what there is."""
        if name not in self._newest:
            known = ", ".join(sorted(self._newest)) or "none"
            raise UnknownWorkflow(f"there is no workflow {name!r} here (known: {known}): check KOALA_WORKFLOWS")
        return self._newest[name]

    def for_task(self, name: str, version: int) -> Workflow | None:
        """Which workflow runs a task made for `version`; None when it has to wait for another worker."""
        exact = self._by_kind.get((name, version))
        if exact:
            return exact
        able = [item for item in self._by_kind.values() if item.name == name and version in item.accepts]
        return max(able, key=lambda item: item.version, default=None)

    @property
    def runs(self) -> list[str]:
        """Every `name@version` whose tasks this program can run, sorted."""
        return sorted({kind for item in self._by_kind.values() for kind in item.kinds})

    @property
    def work_class(self) -> str:
        """The class of work: a hash of `runs`."""
        return hashlib.sha256("\n".join(self.runs).encode()).hexdigest()[:12]

    def __iter__(self) -> Any:
        return iter(self._by_kind.values())


RESERVED = "koala."
"""What the names of Koala's own workflows begin with."""


def _modules(name: str) -> list[ModuleType]:
    module = importlib.import_module(name)
    below = pkgutil.walk_packages(getattr(module, "__path__", []), f"{name}.")
    wanted = (info.name for info in below if ".tests" not in info.name and ".test_" not in info.name)
    return [module, *map(importlib.import_module, wanted)]


def _not_reserved(item: Workflow) -> Workflow:
    if item.name.startswith(RESERVED):
        where = item.function.__module__
        raise WorkflowsError(f"{where} has workflow {item.name}: names that begin with {RESERVED} are Koala's own")
    return item


def load(modules: Iterable[str]) -> Registry:
    """Import the modules, packages with all below them, and collect their workflows. Raises WorkflowsError."""
    registry = Registry()
    for name in modules:
        try:
            found = _modules(name)
        except WorkflowsError:
            raise
        except Exception as error:
            raise WorkflowsError(f"the workflow module {name!r} cannot be loaded: {told(error)}") from error
        for module in found:
            for item in vars(module).values():
                if isinstance(item, Workflow):
                    registry.add(_not_reserved(item))
    if not registry.runs:
        raise WorkflowsError("no workflow was found: set KOALA_WORKFLOWS to the modules that declare them")
    return registry
