"""What compose.yaml says of its services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WORKER = "worker"
SCHEDULER = "scheduler"
MB = 2**20


@dataclass(frozen=True)
class Services:
    """The filled-in configuration, read."""

    config: dict[str, Any]

    @property
    def project(self) -> str:
        """The project's name."""
        return str(self.config["name"])

    def started(self, profiles: str) -> list[str]:
        """The services that `up` starts with these profiles."""
        chosen = set(profiles.split(",")) - {""}
        every = self.config["services"].items()
        return [name for name, one in every if not one.get("profiles") or chosen & set(one["profiles"])]

    def optional(self) -> list[str]:
        """The services of the profiles that KOALA_MINIMAL leaves out."""
        every = self.config["services"].items()
        return [name for name, one in every if one.get("profiles") and "tools" not in one["profiles"]]

    def built(self, names: list[str]) -> list[str]:
        """Those of them that are built here, one for each image."""
        every = self.config["services"]
        images = {every[name]["image"]: name for name in names if every[name].get("build")}
        return list(images.values())

    def image(self, service: str = WORKER) -> tuple[str, str]:
        """A service's image: repository and tag."""
        repository, _, tag = str(self.config["services"][service]["image"]).rpartition(":")
        return repository, tag

    def replicas(self, service: str) -> int:
        """How many containers of it are wanted."""
        one = self.config["services"][service]
        return int(one.get("scale", (one.get("deploy") or {}).get("replicas", 1)))

    def memory(self, service: str) -> int:
        """The memory limit of one container, in bytes; 0 without."""
        limits = ((self.config["services"][service].get("deploy") or {}).get("resources") or {}).get("limits") or {}
        return int(limits.get("memory", 0))

    def variable(self, service: str, name: str, default: str) -> str:
        """A variable of its environment."""
        return str((self.config["services"][service].get("environment") or {}).get(name) or default)

    def volume(self, name: str) -> str:
        """A volume, as the engine names it."""
        return str(((self.config.get("volumes") or {}).get(name) or {}).get("name") or f"{self.project}_{name}")

    @property
    def volumes(self) -> list[str]:
        """All of them."""
        return [self.volume(name) for name in self.config.get("volumes") or {}]
