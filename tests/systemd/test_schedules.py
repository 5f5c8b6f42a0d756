"""Timers beside schedules: what a machine missed is made up for once, and an occurrence runs once, whoever takes it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from koala.tasks import Task
from tests.support import schedules
from tests.support.systemd_pool import SCHEDULER, STORE, WORKER, SystemdPool

ORDER = """
[schedule.{name}]
workflow = "shop.order_by_api"
args = {{ shop = "http://127.0.0.1:8080", user = "ann", sku = "MUG-1", reference = "{name}", settle_s = 0.5 }}
zone = "Europe/Berlin"
"""


def schedule(pool: SystemdPool, name: str, when: str) -> None:
    """Make a schedule that orders a mug, and enable it, as a person does."""
    pool.write(f"/etc/koala/{name}.toml", ORDER.format(name=name) + when)
    pool.sh("koala", "schedule", "apply", f"/etc/koala/{name}.toml")
    pool.sh("koala", "schedule", "enable", name)


def timer(pool: SystemdPool, name: str, when: str) -> str:
    """Have a timer look after it; the timer's name."""
    unit = f"koala-agent-run@{name}.timer"
    pool.drop_in(unit, "OnCalendar=", f"OnCalendar={when}", "RandomizedDelaySec=0", section="Timer")
    pool.systemctl("enable", "--now", unit)
    return unit


def runs(pool: SystemdPool, name: str) -> int:
    """How often its service has come to an end."""
    return pool.journal(f"koala-agent-run@{name}.service").count("Finished koala-agent-run@")


def fired(pool: SystemdPool, unit: str) -> list[str]:
    """The tasks that a program has made of occurrences."""
    lines = (json.loads(line) for line in pool.journal(unit).splitlines() if line.startswith("{"))
    return [line["task"] for line in lines if line["action"] == "schedule_fired" and line["schedule"] == "both"]


def until_made(pool: SystemdPool, name: str, number: int) -> list[Task]:
    """Until so many of its tasks are done; all of them."""

    def done() -> bool:
        return [task.status for task in schedules.made(pool.store, name)].count("done") >= number

    pool.until(done, f"{number} tasks of {name}")
    return schedules.made(pool.store, name)


def test_a_timer_and_a_scheduler_run_an_occurrence_once(pool: SystemdPool) -> None:
    """Promise 7. The timer looks every second; the scheduler freezes meanwhile, and wakes up with what it knew."""
    end = datetime.now(UTC) + timedelta(seconds=14)
    schedule(pool, "both", f'every = "2s"\noverlap = "allow"\nend = "{end:%Y-%m-%dT%H:%M:%SZ}"')
    unit = timer(pool, "both", "*-*-* *:*:* UTC")
    until_made(pool, "both", 1)
    pool.systemctl("kill", "--signal=STOP", SCHEDULER)
    frozen = len(schedules.made(pool.store, "both"))
    pool.until(lambda: len(schedules.made(pool.store, "both")) > frozen, "the timer takes one")
    pool.systemctl("kill", "--signal=CONT", SCHEDULER)
    pool.until(lambda: schedules.state(pool.store, "both").status == "over", "the schedule is over")
    pool.systemctl("disable", "--now", unit)
    found = until_made(pool, "both", len(schedules.made(pool.store, "both")))
    assert len({task.dedupe for task in found}) == len(found)
    assert {task.status for task in found} == {"done"}
    theirs = fired(pool, SCHEDULER)
    assert len(theirs) == len(set(theirs)) >= 1, "the scheduler made some, each once"
    assert set(theirs) < {task.id for task in found}, "and the timer made the others"


def test_a_timer_that_was_missed_while_the_machine_was_off_fires_once(pool: SystemdPool) -> None:
    """No scheduler runs here: the timer's service does for its task what a scheduler does."""
    hour = (datetime.now(UTC) + timedelta(hours=12)).hour
    schedule(pool, "missed", f'cron = "0 {hour} * * *"')
    unit = timer(pool, "missed", f"*-*-* {hour:02}:00:00 Europe/Berlin")
    schedules.back(pool.store, "missed", 3 * 86_400_000)
    pool.sh("touch", "--date=3 days ago", f"/var/lib/systemd/timers/stamp-{unit}")
    pool.systemctl("stop", SCHEDULER)
    pool.systemctl("disable", SCHEDULER)
    pool.systemctl("enable", "shop", STORE, WORKER)
    pool.reboot()
    pool.open_doors()
    found = until_made(pool, "missed", 1)
    pool.until_inside(lambda: runs(pool, "missed"), "its run is over")
    assert (len(found), runs(pool, "missed"), pool.orders("missed")) == (1, 1, 1)
    assert pool.shown(SCHEDULER, "ActiveState")["ActiveState"] == "inactive"
    pool.systemctl("disable", "--now", unit)
    pool.start(SCHEDULER)
