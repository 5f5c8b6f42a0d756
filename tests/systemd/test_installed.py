"""What the installer made: units that this systemd understands, in which no secret can be seen."""

from __future__ import annotations

import json
from typing import Any

from tests.support.systemd_pool import POOL, SCHEDULER, WORKER, SystemdPool

UNITS = ("koala-agent-worker@1.service", "koala-agent-scheduler.service", "koala-agent-run@x.service")
TIMER = "koala-agent-run@x.timer"

# Of every process inside, what others could read of it; run as root.
LOOK = """
import json, os
from pathlib import Path
def link(pid, kind):
    try:
        return os.readlink(f'/proc/{pid}/ns/{kind}')
    except OSError:
        return ''
found = []
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        about = Path(f'/proc/{pid}/status').read_text()
        said = [Path(f'/proc/{pid}/{name}').read_bytes().decode(errors='replace') for name in ('cmdline', 'environ')]
    except OSError:
        continue
    found.append({'pid': int(pid), 'words': said[0].split('\\0'), 'environ': said[1], 'about': about,
        'user': link(pid, 'user'), 'net': link(pid, 'net')})
print(json.dumps(found))
"""


def processes(pool: SystemdPool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(pool.sh("/opt/koala/venv/bin/python", "-c", LOOK))
    return found


def verified(pool: SystemdPool, *units: str) -> str:
    """What systemd complains of."""
    return pool.sh("sh", "-c", f"systemd-analyze verify --man=no {' '.join(units)} 2>&1", check=False)


def test_the_units_are_clean_and_what_was_left_out_is_said(pool: SystemdPool) -> None:
    """The files as they are in the source hold what this systemd does not know: there it is not clean."""
    assert verified(pool, *UNITS, TIMER, "redis-server@koala.service") == ""
    assert "Unknown key 'RestartSteps'" in verified(pool, "/source/systemd/koala-agent-scheduler.service")
    unit = pool.systemctl("cat", SCHEDULER)
    assert "# systemd 252 does not know this, 254 does: RestartSteps=5" in unit


def test_no_unit_is_exposed(pool: SystemdPool) -> None:
    """The figures are in docs/systemd.md."""
    told = json.loads(pool.sh("sh", "-c", f"systemd-analyze security --json=short --no-pager {UNITS[0]}"))
    closed = {one["name"] for one in told if one["set"]}
    assert {
        "NoNewPrivileges=",
        "ProtectSystem=",
        "SystemCallArchitectures=",
        "CapabilityBoundingSet=~CAP_SYS_ADMIN",
    } <= closed
    for unit in UNITS:
        pool.sh("systemd-analyze", "security", "--no-pager", "--threshold=25", unit)


def test_no_secret_can_be_seen_while_the_work_that_needs_it_runs(pool: SystemdPool) -> None:
    """Promise 6; and Chromium's own sandbox is there, inside of the unit's."""
    id_ = pool.errand("test.browse", "seen", profile="ann", gates=["step"])
    pool.until_at("seen", "step")
    found = processes(pool)
    shown = pool.systemctl("show", "--all", *POOL, "koala-agent-run@x") + pool.systemctl("cat", *POOL)
    journal = pool.sh("journalctl", "--no-pager", "--output=json")
    pool.open_gate("seen", "step")
    pool.until_done(id_)
    _is_in_its_sandbox(found)
    assert "KOALA_SECRETS_DIR=/run/credentials/koala-agent-worker@1.service" in "".join(one["environ"] for one in found)
    for user in ("worker", "scheduler", "operator"):
        password = pool.sh("cat", f"/etc/koala/secrets/{user}/redis_password")
        assert len(password) == 64
        for place in (json.dumps(found), shown, journal):
            assert password not in place


def _is_in_its_sandbox(found: list[dict[str, Any]]) -> None:
    worker = next(one for one in found if one["words"][1:3] == ["-m", "worker"] and "slot" not in one["words"])
    renderers = [one for one in found if "--type=renderer" in " ".join(one["words"])]
    assert renderers
    assert not any("--no-sandbox" in " ".join(one["words"]) for one in found)
    for one in renderers:
        assert "Seccomp:\t2" in one["about"]
        assert one["user"] not in ("", worker["user"])
        assert one["net"] not in ("", worker["net"])


def test_a_secret_is_for_its_unit_alone(pool: SystemdPool) -> None:
    """Its file belongs to root; a workflow of another unit, of the same user, finds neither file nor credential."""
    pid = pool.shown(WORKER, "MainPID")["MainPID"]
    seen = f"/proc/{pid}/root"
    assert pool.sh("ls", f"{seen}/run/credentials/koala-agent-worker@1.service").split() == ["redis_password"]
    assert pool.sh("stat", "--format=%u %a", f"{seen}/etc/koala/secrets").split() == ["0", "0"]
    modes = pool.sh("sh", "-c", "stat --format='%a %U %n' /etc/koala/secrets/*/*").splitlines()
    owners = {line.split()[2].split("/")[4]: line.split()[:2] for line in modes}
    assert owners.pop("redis") == ["400", "redis"]
    assert set(map(tuple, owners.values())) == {("400", "root")}


def test_the_rules_for_browsers_hold_for_the_workers_alone(pool: SystemdPool) -> None:
    path = "/etc/chromium/policies/managed/koala.json"
    pid = pool.shown(WORKER, "MainPID")["MainPID"]
    assert json.loads(pool.sh("cat", f"/proc/{pid}/root{path}"))["DefaultBackgroundSyncSetting"] == 2
    assert json.loads(pool.sh("cat", path)) == {}


def test_a_workflows_own_secret_becomes_a_credential(pool: SystemdPool) -> None:
    pool.sh("sh", "-c", "printf of-the-shop | setup/systemd secrets put worker/shop_password")
    assert "LoadCredential=shop_password:/etc/koala/secrets/worker/shop_password" in pool.systemctl("cat", WORKER)


def test_the_command_is_the_operator(pool: SystemdPool) -> None:
    assert json.loads(pool.sh("koala", "status", "--json"))
    assert pool.sh("koala", "systemd", "check", "--run").count(WORKER) >= 1
    assert "run it as root" in pool.sh("sh", "-c", "su -s /bin/sh koala-agent -c 'koala status' 2>&1", check=False)


def test_installing_again_changes_nothing(pool: SystemdPool) -> None:
    """Also below running programs; passwords and settings stay."""
    look = "find /etc/koala /opt/koala/venv/lib -type f -name '[!.]*' | sort | xargs -d '\\n' sha256sum | sha256sum"
    before = pool.sh("sh", "-c", look)
    pool.sh("make", "install-systemd")
    assert pool.sh("sh", "-c", look) == before


def test_programs_are_not_replaced_below_units_that_run(pool: SystemdPool) -> None:
    """A slot that begins anew would be of another version than its worker."""
    pool.sh("sh", "-c", "echo '# newer' >>workflows/__init__.py")
    told = pool.sh("sh", "-c", "make install-systemd 2>&1", check=False)
    pool.sh("sed", "--in-place", "/# newer/d", "workflows/__init__.py")
    assert "These units run; stop them first" in told
    assert f"{WORKER}.service" in told
    assert "newer" not in pool.sh("sh", "-c", "cat /opt/koala/venv/lib/python3*/site-packages/workflows/__init__.py")
