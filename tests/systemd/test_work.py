"""The real pool as units: work is done once, whatever becomes of the units. The last tests stop and remove them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.support.systemd_pool import POOL, SCHEDULER, STORE, WORKER, SystemdPool


def test_an_order_is_done_once(pool: SystemdPool) -> None:
    login = pool.submit("shop.login", {"shop": pool.shop.url, "user": "bob"}, profile="bob")
    pool.until_done(login)
    ids = [pool.order("u-browser", workflow="shop.order", profile="bob", user="bob"), pool.order("u-api")]
    pool.until_done(*ids)
    assert [pool.orders("u-browser"), pool.orders("u-api")] == [1, 1]


def test_a_worker_that_is_killed_in_mid_order_is_started_again_and_orders_once(pool: SystemdPool) -> None:
    """Promise 3."""
    pool.drop_in("koala-agent-worker@1.service", "RestartSec=1")
    id_ = pool.errand("test.browse", "killed", profile="ann", gates=["acted"])
    pool.until_at("killed", "acted")
    pool.systemctl("kill", "--kill-who=main", "--signal=KILL", WORKER)
    pool.open_gate("killed", "acted")
    pool.until_done(id_)
    assert pool.orders("killed") == 1
    assert pool.shown(WORKER, "NRestarts")["NRestarts"] == "1"


def test_a_stop_in_mid_order_drains(pool: SystemdPool) -> None:
    """Promise 8: the act ends, in the same attempt; nothing is killed."""
    id_ = pool.errand("test.browse", "drained", profile="ann", gates=["acted"])
    pool.until_at("drained", "acted")
    kills = pool.journal(WORKER).count("SIGKILL")
    pool.systemctl("stop", "--no-block", WORKER)
    pool.until_inside(lambda: "worker_drains" in pool.journal(WORKER), "it drains")
    assert pool.until_state(WORKER, "deactivating")["SubState"] == "stop-sigterm"
    assert pool.task(id_).status == "running"
    pool.open_gate("drained", "acted")
    found = pool.until_state(WORKER, "inactive")
    pool.start(WORKER)
    pool.until_done(id_)
    assert (found["Result"], found["ExecMainStatus"]) == ("success", "0")
    assert pool.orders("drained") == 1
    assert len(pool.events(id_, "attempt_started")) == 1
    assert pool.journal(WORKER).count("SIGKILL") == kills


def test_after_a_reboot_the_pool_is_there_with_all_that_was_accepted(pool: SystemdPool) -> None:
    """Promise 4."""
    pool.systemctl("enable", "shop", *POOL)
    waiting = pool.order("rebooted", at=datetime.now(UTC) + timedelta(seconds=5))
    pool.reboot()
    pool.open_doors()
    pool.until_done(waiting)
    assert pool.orders("rebooted") == 1


def test_uninstalling_leaves_settings_data_and_authors_workflows(pool: SystemdPool) -> None:
    stays = "/etc/koala /opt/koala/app/tests /var/lib/koala/data/.koala-volume /var/lib/koala-redis"
    kept = f"find {stays} | sort | sha256sum"
    goes = "/opt/koala/venv /usr/local/bin/koala /etc/chromium/policies/managed/koala.json /etc/systemd/system/redis*"
    pool.systemctl("stop", SCHEDULER, WORKER, STORE)
    before = pool.sh("sh", "-c", kept)
    pool.sh("make", "uninstall-systemd")
    assert pool.systemctl("list-units", "--all", "--plain", "--no-legend", "koala-agent-*") == ""
    assert pool.systemctl("list-unit-files", "--no-legend", "koala-agent-*", check=False) == ""
    assert pool.sh("sh", "-c", f"ls -d {goes} 2>/dev/null", check=False) == ""
    assert pool.sh("sh", "-c", kept) == before
