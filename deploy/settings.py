"""The tool's own settings: from the environment, else from `.env`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deploy.exits import Exit
from deploy.problem import Problem

MONITORING = "monitoring"


@dataclass(frozen=True)
class Settings:
    """What a person can set. Durations in seconds."""

    minimal: bool = False
    """KOALA_MINIMAL=1: no monitoring, no second scheduler."""
    batch: int = 0
    """KOALA_BATCH: workers that a roll-out replaces at a time. 0: a quarter of them."""
    surge: int = -1
    """KOALA_SURGE: workers that may run beside the full number meanwhile. -1: a batch, if the memory has room."""
    watch_s: float = 60.0
    """KOALA_WATCH_S: how long crashes and failures are watched after each batch."""
    healthy_s: float = 180.0
    """KOALA_HEALTHY_S: how long a new container may take until it is healthy."""
    canary_s: float = 180.0
    """KOALA_CANARY_S: how long a healthy worker may take until each of its slots has passed a canary."""
    backup_wait_s: float = 30.0
    """KOALA_BACKUP_WAIT_S: how long a backup waits for profiles in use, before it takes their last good snapshots."""
    secrets_dir: str = "./secrets"
    """KOALA_SECRETS_DIR: where the secrets are."""
    tag: str = ""
    """KOALA_TAG: the image, in place of a new tag for what is built."""
    profiles: str = MONITORING
    """COMPOSE_PROFILES: the optional parts of compose.yaml that are started."""

    @property
    def schedulers(self) -> int:
        """How many schedulers a whole set has."""
        return 1 if self.minimal else 2


def load(environ: Mapping[str, str], kept: Mapping[str, str]) -> Settings:
    """Read them; the environment counts before the file. Raises Problem naming one that is wrong."""

    def text(name: str, default: str) -> str:
        return environ.get(name) or kept.get(name) or default

    def number(name: str, default: float, least: float) -> float:
        given = text(name, str(default))
        try:
            value = float(given)
        except ValueError:
            value = least - 1
        if value < least:
            raise Problem(f"{name}={given} is not a number from {least:g} on", f"correct {name}", Exit.USAGE)
        return value

    minimal = text("KOALA_MINIMAL", "0").lower() not in ("0", "", "no", "false")
    return Settings(
        minimal=minimal,
        batch=int(number("KOALA_BATCH", 0, 0)),
        surge=int(number("KOALA_SURGE", -1, -1)),
        watch_s=number("KOALA_WATCH_S", 60, 0),
        healthy_s=number("KOALA_HEALTHY_S", 180, 1),
        canary_s=number("KOALA_CANARY_S", 180, 1),
        backup_wait_s=number("KOALA_BACKUP_WAIT_S", 30, 0),
        secrets_dir=text("KOALA_SECRETS_DIR", Settings.secrets_dir),
        tag=environ.get("KOALA_TAG", ""),
        profiles="" if minimal else environ.get("COMPOSE_PROFILES", kept.get("COMPOSE_PROFILES", MONITORING)),
    )
