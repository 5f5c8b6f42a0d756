"""The pool as units of a real systemd, which runs in a container, with the shop beside it; gone afterwards."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from demo.shop.server import ShopProcess
from koala.store import open_store
from koala.workflow import load
from tests.support.pool_view import PoolView
from tests.support.waiting import until

IMAGE = "koala-systemd:test"
INSIDE = "/srv/koala-test"
"""Where the test's home is inside."""
MODULES = ("workflows", "tests.support.workflows", "tests.support.browsing")
LOOK_S = 0.2
STORE, SCHEDULER, WORKER = "redis-server@koala", "koala-agent-scheduler", "koala-agent-worker@1"
POOL = (STORE, SCHEDULER, WORKER)

# What it takes to be a machine of one's own: systemd makes control groups and mounts.
MACHINE = (
    *("--cap-add=SYS_ADMIN", "--cap-add=SYS_PTRACE"),
    "--security-opt=seccomp=unconfined",
    "--cgroupns=host",
    "--volume=/sys/fs/cgroup:/sys/fs/cgroup:rw",
    *("--tmpfs=/run", "--tmpfs=/run/lock", "--tmpfs=/tmp:exec"),
    "--env=container=docker",
    "--shm-size=512m",
)


class Shop(ShopProcess):
    """The shop inside; its book is on this machine."""

    def __init__(self, directory: Path, host: str) -> None:
        super().__init__(directory, port=8080)
        self.host = host

    @property
    def url(self) -> str:
        """Where the workers' browsers find it."""
        return "http://127.0.0.1:8080"


class SystemdPool(PoolView):
    """A context manager: a machine on which the units are installed and none was started."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="koala-systemd-")))
            self.home.chmod(0o755)
            (self.home / "gates").mkdir(mode=0o777)
            self.name = f"koala-systemd-{uuid.uuid4().hex[:8]}"
            self.registry = load(list(MODULES))
            stack.callback(lambda: _docker("rm", "--force", "--volumes", self.name))
            _docker("run", "--detach", f"--name={self.name}", *MACHINE, f"--volume={self.home}:{INSIDE}", IMAGE)
            self.until_booted()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # The machine

    def sh(self, *command: str, check: bool = True) -> str:
        """What a command prints inside; AssertionError with all that it said when it fails and `check` is set."""
        return _docker("exec", self.name, *command, check=check)

    def write(self, path: str, text: str) -> None:
        """Make a file inside."""
        self.sh("sh", "-c", f"mkdir -p \"$(dirname '{path}')\" && cat >'{path}' <<'EOF'\n{text}\nEOF")

    def until_booted(self) -> None:
        """Until systemd has started all that it starts at a boot."""
        wait = ("systemctl", "is-system-running", "--wait")
        until(lambda: self.sh(*wait, check=False).strip() in ("running", "degraded"), "the machine is up")

    def reboot(self) -> None:
        """Stop everything, and start the machine again."""
        _docker("restart", "--time=60", self.name)
        self.until_booted()

    def until_inside(self, condition: Callable[[], object], what: str) -> None:
        """The same as `until`, asked less often: each look starts a program inside."""

        def looked() -> object:
            found = condition()
            if not found:
                time.sleep(LOOK_S)
            return found

        self.until(looked, what)

    # Units

    def systemctl(self, *words: str, check: bool = True) -> str:
        """`systemctl …`: what it printed."""
        return self.sh("systemctl", *words, check=check)

    def start(self, *units: str) -> None:
        """Start units; those of type exec run then."""
        self.systemctl("start", *units)

    def drop_in(self, unit: str, *lines: str, section: str = "Service") -> None:
        """Add directives to a unit, as `systemctl edit` does."""
        self.write(f"/etc/systemd/system/{unit}.d/test.conf", "\n".join([f"[{section}]", *lines]))
        self.systemctl("daemon-reload")

    def shown(self, unit: str, *properties: str) -> dict[str, str]:
        """Properties of a unit."""
        lines = self.systemctl("show", f"--property={','.join(properties)}", unit).splitlines()
        return dict(line.split("=", 1) for line in lines)

    def until_state(self, unit: str, *states: str) -> dict[str, str]:
        """Until the unit's ActiveState is one of these; how it is then."""
        names = ("ActiveState", "SubState", "Result", "NRestarts", "ExecMainStatus")
        self.until_inside(lambda: self.shown(unit, "ActiveState")["ActiveState"] in states, f"{unit} is {states}")
        return self.shown(unit, *names)

    def journal(self, unit: str = "*") -> str:
        """What a unit and systemd about it said, since the beginning."""
        return self.sh("journalctl", "--no-pager", "--output=cat", f"--unit={unit}")

    # The pool

    def up(self) -> None:
        """Start the shop and the pool, and find them."""
        self.start("shop", *POOL)
        self.open_doors()

    def open_doors(self) -> None:
        """Find store and shop, at the machine's address."""
        address = _docker("inspect", "--format={{.NetworkSettings.IPAddress}}", self.name).strip()
        password = self.sh("cat", "/etc/koala/secrets/operator/redis_password")
        self.store = open_store(f"redis://{address}:6379/0", password, "operator")
        self.shop = Shop(self.home / "shop", address)
        self.until(self._shop_answers, "the shop answers")
        self.until(lambda: [one["accepting"] for one in self.slots()].count("1") == 2, "two slots")

    def _shop_answers(self) -> bool:
        try:
            return bool(self.shop.state())
        except OSError:
            return False

    def submit(self, workflow: str, args: Mapping[str, Any], *, plan: str = "", dedupe: str = "", **more: Any) -> str:
        """Accept a task; folders are where the worker finds them."""
        told = json.loads(json.dumps(dict(args)).replace(str(self.home), INSIDE))
        return super().submit(workflow, told, plan=plan, dedupe=dedupe, **more)

    def make_gates(self, reference: str) -> Path:
        """The same, for the units' user too."""
        folder = super().make_gates(reference)
        folder.chmod(0o777)
        return folder

    def logs(self) -> str:
        """The end of the journal."""
        return self.sh("journalctl", "--no-pager", "--lines=60", check=False)


def _docker(*words: str, check: bool = True) -> str:
    command = ["docker", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert not check or done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout
