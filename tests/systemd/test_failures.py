"""Programs that cannot start: those that may come round are tried again, so often, the others are not."""

from __future__ import annotations

from tests.support.systemd_pool import SystemdPool


def test_a_crash_loop_stops_at_its_limit_and_says_why(pool: SystemdPool) -> None:
    unit = "koala-agent-worker@loop.service"
    pool.write("/etc/koala/worker-loop.env", "KOALA_REDIS_URL=unix:///nowhere\nKOALA_STORE_WAIT_S=0")
    pool.drop_in(unit, "RestartSec=0.1")
    pool.start(unit)
    found = pool.until_state(unit, "failed")
    limit = int(pool.shown(unit, "StartLimitBurst")["StartLimitBurst"])
    said = pool.journal(unit)
    assert limit == 10
    assert said.count("error[store_away]: no store at unix:///nowhere") == limit, said
    assert "Start request repeated too quickly." in said
    assert found["ExecMainStatus"] == "7"


def test_a_permanent_error_is_not_restarted(pool: SystemdPool) -> None:
    unit = "koala-agent-worker@wrong.service"
    pool.write("/etc/koala/worker-wrong.env", "KOALA_WORKFLOWS=nowhere")
    pool.start(unit)
    found = pool.until_state(unit, "failed")
    assert (found["Result"], found["ExecMainStatus"], found["NRestarts"]) == ("exit-code", "67", "0")
    assert "nowhere" in pool.journal(unit)
    assert "Scheduled restart job" not in pool.journal(unit)
