"""Whether what is to run fits this machine's memory."""

from __future__ import annotations

from deploy.exits import Exit
from deploy.problem import Problem
from deploy.project import Project
from deploy.services import WORKER

GB = 1e9
FAR = 8
"""Limits may add up to more than there is, since not all are used at once; so many times as much is a mistake."""


def total(project: Project) -> int:
    """The machine's memory in bytes, as the engine sees it."""
    return int(project.engine.docker("info", "--format", "{{.MemTotal}}").strip() or 0)


def others(project: Project) -> int:
    """The limits of everything beside the workers together."""
    services = project.services
    names = [name for name in services.started(project.settings.profiles) if name != WORKER]
    return sum(services.memory(name) * services.replicas(name) for name in names)


def room(machine: int, beside: int, each: int, target: int) -> int | None:
    """How many workers more than the target have room, by their limits; None when they have none."""
    return None if not each else max(0, (machine - beside) // each - target)


def refuse(project: Project, workers: int) -> None:
    """Raises Problem for a number of workers whose limits are far beyond this machine: it cannot be meant."""
    each, there = project.services.memory(WORKER), total(project)
    if each and workers * each > FAR * there:
        most = there // each
        raise Problem(
            f"{workers} workers of {each / GB:.1f} GB are far more than this machine's {there / GB:.1f} GB",
            f"{most} have room by their limits; a smaller KOALA_WORKER_MEMORY makes room for more",
            Exit.REFUSED,
        )


def doubt(project: Project, workers: int) -> str:
    """A warning when the limits together are more than there is; empty otherwise."""
    each = project.services.memory(WORKER)
    wanted, there = others(project) + workers * each, total(project)
    if not each or wanted <= there:
        return ""
    return (
        f"note: the memory limits add up to {wanted / GB:.1f} GB ({workers} workers of {each / GB:.1f} GB), this "
        f"machine has {there / GB:.1f} GB: fewer workers, fewer slots each, or KOALA_MINIMAL=1"
    )
