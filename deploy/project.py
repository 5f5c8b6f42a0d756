"""This checkout's pool: its engine, its configuration, and the image it runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from deploy import containers, envfile, images
from deploy import settings as own
from deploy.compose import Compose
from deploy.containers import Container
from deploy.engine import Engine
from deploy.exits import Exit
from deploy.images import Image
from deploy.pool import Pool
from deploy.problem import Problem
from deploy.services import SCHEDULER, WORKER, Services
from deploy.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
TAG, TAG_BEFORE = "KOALA_TAG", "KOALA_TAG_BEFORE"


def env_path(root: Path, environ: Mapping[str, str]) -> Path:
    """The file that Compose takes its variables from: the last of COMPOSE_ENV_FILES, else `.env`."""
    given = environ.get("COMPOSE_ENV_FILES", "").split(",")[-1].strip()
    return root / (given or ".env")


@dataclass
class Project:
    """Everything a command needs. Reading it asks Docker, changing `.env` is said."""

    root: Path
    environ: Mapping[str, str]

    @classmethod
    def here(cls) -> Project:
        """The checkout that this package lies in, with this process's environment."""
        return cls(ROOT, dict(os.environ))

    @cached_property
    def env_file(self) -> Path:
        """Where Compose's variables are kept."""
        return env_path(self.root, self.environ)

    @cached_property
    def settings(self) -> Settings:
        """The tool's settings. Raises Problem."""
        return own.load(self.environ, envfile.read(self.env_file))

    @cached_property
    def engine(self) -> Engine:
        """Docker."""
        return Engine(self.root, self.environ)

    @cached_property
    def services(self) -> Services:
        """What compose.yaml and `.env` say."""
        return Services(Compose(self.engine, self.settings, self.recorded).config())

    @property
    def recorded(self) -> str:
        """The tag that the last command left in `.env`; without one the environment's, else `latest`."""
        return envfile.read(self.env_file).get(TAG) or self.environ.get(TAG) or "latest"

    @property
    def before(self) -> str:
        """The tag that the last roll-out replaced; empty without one."""
        return envfile.read(self.env_file).get(TAG_BEFORE, "")

    @property
    def lock(self) -> Path:
        """The lock that one command at a time holds."""
        return self.root / ".koala" / f"{self.services.project}.lock"

    @property
    def _notes(self) -> Path:
        return self.lock.with_suffix(".built")

    def built(self) -> list[str]:
        """The tags that were built for this pool and may still be here. Only for tidying up."""
        return self._notes.read_text("utf-8").split() if self._notes.exists() else []

    def note_built(self, tags: list[str]) -> None:
        """Remember them in place of those before."""
        self._notes.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        self._notes.write_text("".join(f"{tag}\n" for tag in tags), "utf-8")

    def keep(self, values: Mapping[str, str | None]) -> None:
        """Write variables into `.env`, so that plain `docker compose` does the same as this tool."""
        envfile.write(self.env_file, values)

    def went_to(self, tag: str) -> dict[str, str | None]:
        """What to keep after starting an image: the one that was recorded is the one before."""
        kept = envfile.read(self.env_file).get(TAG, tag)
        return {TAG: tag} if kept == tag else {TAG: tag, TAG_BEFORE: kept}

    def went_back(self, tag: str) -> dict[str, str | None]:
        """What to keep after going back to an image: it is the present one, and no longer the one before."""
        return {TAG: tag, TAG_BEFORE: None if self.before == tag else self.before or None}

    def containers(self, service: str = "") -> list[Container]:
        """What runs, and what has ended and is still there."""
        return containers.every(self.engine, self.services.project, service)

    def made_from(self, service: str) -> list[Container]:
        """A service's containers, each with the name that its image has now (`adopt`), whatever it was made under."""
        repository = self.services.image()[0]
        return [replace(one, image=f"{repository}:{one.tag}") for one in self.containers(service)]

    @property
    def workers(self) -> list[Container]:
        """The workers' containers."""
        return self.made_from(WORKER)

    @property
    def schedulers(self) -> list[Container]:
        """The schedulers' containers."""
        return self.made_from(SCHEDULER)

    def runs(self) -> str:
        """The tag of the image that most running workers have; empty when none runs."""
        tags = Counter(one.tag for one in self.workers if one.up)
        return tags.most_common(1)[0][0] if tags else ""

    @property
    def tag(self) -> str:
        """The image that commands are run with: what runs, else what is recorded."""
        return self.runs() or self.recorded

    def compose(self, tag: str) -> Compose:
        """Compose with an image."""
        return Compose(self.engine, self.settings, tag)

    def pool(self, tag: str) -> Pool:
        """The pool, asked with an image's `koala`."""
        return Pool(self.compose(tag), self.services.project)

    def reference(self, tag: str) -> str:
        """An image's whole name."""
        return f"{self.services.image()[0]}:{tag}"

    def image(self, tag: str) -> Image | None:
        """The Koala image with that tag; None when it is not here."""
        return images.find(self.engine, self.reference(tag))

    def refuse_when_down(self) -> None:
        """Raises Problem where no scheduler runs: workers alone would take no work."""
        if not any(one.up for one in self.schedulers):
            raise Problem("the pool does not run", "`make up` starts all of it", Exit.REFUSED)

    def adopt(self) -> None:
        """Know the images that run by the name of now, too: KOALA_REPOSITORY may have another value since.

        A tag is all that is kept of an image. Without this, the way back would lead to whatever has that tag under the
        new name.
        """
        repository = self.services.image()[0]
        for one in [*self.containers(WORKER), *self.containers(SCHEDULER)]:
            name = f"{repository}:{one.tag}"
            if one.up and one.image != name:
                self.engine.docker("tag", one.image_id, name)

    @property
    def soft_s(self) -> float:
        """How long a draining worker lets an attempt go on."""
        return float(self.services.variable(WORKER, "KOALA_DRAIN_SOFT_S", "60"))

    @property
    def slots(self) -> int:
        """The slots of a worker."""
        return int(self.services.variable(WORKER, "KOALA_SLOTS", "2"))
