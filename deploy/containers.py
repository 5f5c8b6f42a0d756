"""The project's containers, as the engine tells of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deploy.engine import Engine

PROJECT = "com.docker.compose.project"
SERVICE = "com.docker.compose.service"
ONEOFF = "com.docker.compose.oneoff"
HASH = "com.docker.compose.config-hash"
NUMBER = "com.docker.compose.container-number"


@dataclass(frozen=True)
class Container:
    """One container of a service."""

    id: str
    name: str
    service: str
    number: int
    image: str
    """The reference that it was made from, with its tag."""
    image_id: str
    config: str
    """Compose's hash of the service's configuration when it was made."""
    state: str
    """created, running, restarting, paused, exited, dead"""
    health: str
    """healthy, unhealthy, starting; empty without a health check"""
    exit: int
    restarts: int
    started: str
    finished: str
    ports: tuple[str, ...] = ()
    slots: int = 0
    """Slots of a worker, as its environment says."""

    @property
    def tag(self) -> str:
        """The image's tag."""
        return self.image.rpartition(":")[2]

    @property
    def up(self) -> bool:
        """Whether it runs, or is about to again."""
        return self.state in ("running", "restarting", "paused")

    @property
    def ready(self) -> bool:
        """Whether it runs and is healthy; running suffices where nothing asks for its health."""
        return self.state == "running" and self.health in ("healthy", "")

    def hosts(self, worker: str) -> bool:
        """Whether a worker, scheduler or slot of that name runs in it: names begin with the container's host name."""
        return worker.startswith(f"{self.id[:12]}-")


def parse(found: dict[str, Any]) -> Container:
    """A container from what `docker inspect` says."""
    state, config = found["State"], found["Config"]
    labels = config.get("Labels") or {}
    return Container(
        id=found["Id"],
        name=found["Name"].removeprefix("/"),
        service=labels.get(SERVICE, ""),
        number=int(labels.get(NUMBER, 0)),
        image=config["Image"],
        image_id=found["Image"],
        config=labels.get(HASH, ""),
        state=state["Status"],
        health=(state.get("Health") or {}).get("Status", ""),
        exit=int(state.get("ExitCode", 0)),
        restarts=int(found.get("RestartCount", 0)),
        started=state.get("StartedAt", ""),
        finished=state.get("FinishedAt", ""),
        ports=_ports(found),
        slots=int(_variable(config, "KOALA_SLOTS", "2")),
    )


def _variable(config: dict[str, Any], name: str, default: str) -> str:
    given = dict(one.split("=", 1) for one in config.get("Env") or () if "=" in one)
    return str(given.get(name) or default)


def _ports(found: dict[str, Any]) -> tuple[str, ...]:
    published = (found.get("NetworkSettings") or {}).get("Ports") or {}
    return tuple(f"{port['HostIp']}:{port['HostPort']}" for ports in published.values() for port in ports or ())


def every(engine: Engine, project: str, service: str = "") -> list[Container]:
    """The project's containers in every state, or one service's; without those of `docker compose run`."""
    wanted = [f"label={PROJECT}={project}", f"label={ONEOFF}=False"]
    if service:
        wanted.append(f"label={SERVICE}={service}")
    filters = [word for one in wanted for word in ("--filter", one)]
    ids = engine.docker("ps", "--all", "--quiet", "--no-trunc", *filters).split()
    return sorted(map(parse, engine.inspect(*ids)), key=lambda one: (one.service, one.number))


def named(some: Iterable[Container]) -> str:
    """Their names, for a sentence."""
    return ", ".join(one.name for one in some) or "none"
