"""The Koala image on this machine: its tags, and whether two are alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deploy.engine import Engine

UNTOLD = ("KOALA_IMAGE=",)
"""Variables that differ between two builds of the same source."""


@dataclass(frozen=True)
class Image:
    """One image; two with the same content differ only in their name."""

    id: str
    tags: tuple[str, ...]
    content: tuple[Any, ...]


def find(engine: Engine, name: str) -> Image | None:
    """The image of that name, id or tag; None when it is not here."""
    found = engine.tried("image", "inspect", name)
    if found.code:
        return None
    return parse(engine.inspect(name)[0])


def parse(found: dict[str, Any]) -> Image:
    """An image from what `docker inspect` says."""
    config = found.get("Config") or {}
    variables = tuple(sorted(one for one in config.get("Env") or () if not one.startswith(UNTOLD)))
    program = (config.get("Entrypoint"), config.get("Cmd"), config.get("User"), config.get("WorkingDir"))
    layers = tuple((found.get("RootFS") or {}).get("Layers") or ())
    return Image(found["Id"], tuple(found.get("RepoTags") or ()), (layers, variables, str(program)))


def fresh_tag(now: datetime) -> str:
    """A tag for what is built now: its moment, so that tags sort by age."""
    return now.strftime("%Y%m%d-%H%M%S")
