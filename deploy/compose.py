"""Compose commands of this project. The image's tag goes with each, so that what `.env` says never surprises."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from deploy.engine import Engine, Ran
from deploy.settings import Settings

WAIT_S = "300"


class Compose:
    """`docker compose`, with the variables that the tool decides."""

    def __init__(self, engine: Engine, settings: Settings, tag: str) -> None:
        self.engine = engine
        self._settings = settings
        self._env = {
            "COMPOSE_PROFILES": settings.profiles,
            "KOALA_SECRETS_DIR": settings.secrets_dir,
            "KOALA_SCHEDULERS": str(settings.schedulers),
            "KOALA_TAG": tag,
        }

    def under(self, tag: str) -> Compose:
        """The same project with another image."""
        return Compose(self.engine, self._settings, tag)

    def run(self, *args: str) -> str:
        """Standard output of a compose command. Raises DockerFailed."""
        return self.engine.docker("compose", *args, env=self._env, timeout_s=None)

    def tried(self, *args: str) -> Ran:
        """The same, also when it fails."""
        return self.engine.tried("compose", *args, env=self._env, timeout_s=None)

    def watched(self, *args: str) -> None:
        """A long command whose words are shown."""
        self.engine.watched("compose", *args, env=self._env)

    def config(self) -> dict[str, Any]:
        """The whole of compose.yaml and its overrides, with every variable filled in and every profile."""
        found: dict[str, Any] = json.loads(self.run("--profile", "*", "config", "--format", "json"))
        return found

    def hash(self, service: str) -> str:
        """The hash of a service's configuration, as a container made now would bear it."""
        return self.run("config", "--hash", service).split()[-1]

    def up(self, services: Sequence[str], *flags: str) -> None:
        """Start services and wait for their health. Raises DockerFailed."""
        self.run("up", "--detach", "--no-build", "--wait", "--wait-timeout", WAIT_S, *flags, *services)

    def more(self, service: str, number: int) -> None:
        """Have so many containers of a service, leaving those that are there as they are; waits for nothing.

        With the services that it depends on, which run: to leave them out would count as another configuration.
        """
        flags = ("--detach", "--no-build", "--no-recreate", "--scale", f"{service}={number}")
        self.run("up", *flags, service)

    @property
    def environ(self) -> Mapping[str, str]:
        """What the commands see besides the caller's environment."""
        return self._env
