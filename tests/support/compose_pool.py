"""The real compose.yaml on a real engine, with a shop outside, all under a project name of its own; gone afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from demo.shop.server import ShopProcess
from koala.errors import StoreAway
from koala.store import open_store
from koala.workflow import load
from monitoring import scale
from tests.support.pool_view import PoolView
from tests.support.prometheus_view import PrometheusView
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
FILES = (ROOT / "compose.yaml", ROOT / "tests" / "compose" / "compose.test.yaml")
MODULES = "workflows tests.support.workflows tests.support.browsing tests.compose.site.hog"
FACTOR = 0.05
"""Of every duration of Prometheus' rules: ten minutes become thirty seconds."""


def run(
    arguments: Iterable[str], environment: dict[str, str], *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a program in the checkout; AssertionError with all that it said when it fails and `check` is set."""
    command = [str(one) for one in arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert not check or done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


class ShopContainer(ShopProcess):
    """The shop in a container; its book is on this machine."""

    def __init__(self, directory: Path, host: str) -> None:
        super().__init__(directory, port=8080)
        self.host = host

    @property
    def url(self) -> str:
        """Where the workers' browsers find it."""
        return "http://shop.test:8080"


class ComposePool(PoolView):
    """A context manager; `more` are variables for compose.yaml. What runs is only what a test starts."""

    def __init__(self, tag: str, **more: str) -> None:
        self._stack = ExitStack()
        self._more = more
        self.project = f"koala-test-{uuid.uuid4().hex[:8]}"
        self.tag = tag
        self.registry = load(MODULES.split())

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="koala-compose-")))
            self.home.chmod(0o755)
            for folder in ("gates", "shop", "secrets"):
                (self.home / folder).mkdir()
            (self.home / "gates").chmod(0o777)
            (self.home / "env").touch()
            scale.copy(FACTOR, ROOT / "monitoring" / "prometheus", self.home / "prometheus")
            stack.callback(self._remove)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _remove(self) -> None:
        self.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "0", check=False)
        for note in (ROOT / ".koala").glob(f"{self.project}.*"):
            note.unlink()

    @property
    def environment(self) -> dict[str, str]:
        """What Compose and the tool are given."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("KOALA_", "COMPOSE_"))}
        return {
            **ours,
            "COMPOSE_FILE": ":".join(map(str, FILES)),
            "COMPOSE_PROJECT_NAME": self.project,
            "COMPOSE_ENV_FILES": str(self.home / "env"),
            "COMPOSE_PROFILES": "",
            "KOALA_REPOSITORY": "koala-test",
            "KOALA_TAG": self.tag,
            "KOALA_EGRESS_TAG": self.tag,
            "KOALA_CONTEXT": str(ROOT / "tests"),
            "KOALA_DOCKERFILE": "compose/site/Dockerfile",
            "KOALA_TEST_BASE": "koala:test",
            "KOALA_TEST_SHOP": "koala-test-shop:test",
            "KOALA_TEST_HOME": str(self.home),
            "KOALA_SECRETS_DIR": str(self.home / "secrets"),
            "KOALA_EGRESS_ALLOW": "shop.test:8080",
            "KOALA_NOFILE": "16384",
            "KOALA_HEALTH_INTERVAL": "1s",
            "KOALA_LEASE_TTL_S": "3",
            "KOALA_TRUST_MARGIN_S": "0.5",
            "KOALA_STOP_GRACE": "60s",
            "KOALA_PROMETHEUS_PORT": "0",
            "KOALA_GRAFANA_PORT": "0",
            **self._more,
        }

    # Compose, the tool, the command

    def compose(self, *arguments: str, check: bool = True, **more: str) -> str:
        """`docker compose …`: what it printed."""
        return run(["docker", "compose", *arguments], {**self.environment, **more}, check=check).stdout

    def docker(self, *arguments: str) -> str:
        """`docker …`: what it printed."""
        return run(["docker", *arguments], self.environment).stdout.strip()

    def tool(self, *arguments: str, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """`python3 -m deploy …`, as the make targets call it."""
        return run([sys.executable, "-m", "deploy", *arguments], {**self.environment, **more}, check=check)

    def koala(self, *arguments: str) -> str:
        """`koala …` in the operator's container."""
        return self.compose("run", "--rm", "--no-deps", "-T", "operator", "koala", *arguments)

    def make_gates(self, reference: str) -> Path:
        """The same, for the containers' user too."""
        folder = super().make_gates(reference)
        folder.chmod(0o777)
        return folder

    # Starting

    def up(self, workers: int = 2) -> None:
        """Start the pool and the shop as `make up` does it, and open the test's own doors to both."""
        self.tool("up", KOALA_WORKERS=str(workers))
        self.compose("up", "--detach", "--no-recreate", "--no-deps", "shop")
        self.open_doors()
        self.until_slots(2 * workers)

    def open_doors(self) -> None:
        """Find the store and the shop, which have new addresses after a restart."""
        until(self._store_answers, "the store answers")
        self.shop = ShopContainer(self.home / "shop", self.address("shop"))
        until(self._shop_answers, "the shop answers")

    def _store_answers(self) -> bool:
        password = (self.home / "secrets" / "operator" / "redis_password").read_text()
        try:
            self.store = open_store(f"redis://{self.address('redis')}:6379/0", password, "operator")
        except StoreAway:  # it still reads its log
            return False
        return True

    def _shop_answers(self) -> bool:
        try:
            return bool(self.shop.state())
        except OSError:
            return False

    def until_slots(self, number: int) -> None:
        """Until so many slots take work, and no more."""
        self.until(lambda: len([one for one in self.slots() if one["accepting"] == "1"]) == number, f"{number} slots")

    @property
    def prometheus(self) -> PrometheusView:
        """What its Prometheus says; it runs with the profile `monitoring`."""
        return PrometheusView(f"http://{self.address('prometheus')}:9090", FACTOR)

    # Looking

    def containers(self, service: str = "worker", *, stopped: bool = False) -> list[str]:
        """The ids of a service's containers."""
        return self.compose("ps", "--quiet", *(["--all"] if stopped else []), service).split()

    def inspect(self, container: str) -> dict[str, Any]:
        """What the engine says of a container."""
        found: dict[str, Any] = json.loads(self.docker("inspect", container))[0]
        return found

    def exit_code(self, container: str) -> int:
        """Of a container that has ended."""
        state = self.inspect(container)["State"]
        assert not state["Running"], container
        return int(state["ExitCode"])

    def address(self, service: str) -> str:
        """Of a service's first container, on one of its networks."""
        networks = self.inspect(self.containers(service)[0])["NetworkSettings"]["Networks"]
        return next(str(one["IPAddress"]) for one in networks.values() if one["IPAddress"])

    def gateway(self, network: str) -> str:
        """This machine's own address on a network."""
        found = json.loads(self.docker("network", "inspect", f"{self.project}_{network}"))[0]
        return str(found["IPAM"]["Config"][0].get("Gateway") or "")

    def passwords(self) -> list[str]:
        """Every secret value that was made."""
        values = (path for path in (self.home / "secrets").rglob("*") if path.is_file() and path.name != "users.acl")
        return [path.read_text() for path in values]

    def inside(self, container: str, *command: str) -> str:
        """What a command prints in a container."""
        return self.docker("exec", container, *command)

    def worker_of(self, id_: str) -> str:
        """The container whose worker runs the task: a worker's name begins with its host's."""
        host = self.events(id_, "attempt_started")[-1].data["worker"].rpartition("-")[0]
        return next(one for one in self.containers() if one.startswith(host))

    def logs(self) -> str:
        """The end of every container's output."""
        return self.compose("logs", "--no-color", "--tail", "40", check=False)
