"""One browser a profile, by the kernel, whatever the leases say."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from koala.fence import Fence
from tests.support.holders import holder
from tests.support.visitor import Visitor
from worker import locks, processes
from worker.browser import (
    BrowserFailed,
    BrowserOptions,
    Browsers,
    Driver,
    WarmShell,
    find_browsers,
    open_profile,
)
from worker.locks import Alive, Gone, LockHeld, LowerFence
from worker.profiles import Preparation, ProfileBinary


async def test_a_second_browser_on_a_profile_is_refused_whichever_fence_it_has(visitor: Visitor) -> None:
    first = await visitor.open()
    with pytest.raises(LockHeld) as refused:
        await visitor.open()
    assert refused.value.holder is not None
    assert refused.value.holder.pid == first.process.pid
    visitor.counter = 0
    with pytest.raises(LockHeld):
        await visitor.open()
    assert first.is_alive
    await first.close()


async def test_the_wrapper_refuses_by_itself_when_another_process_has_the_lock(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between our own look at the lock and the browser's start."""
    monkeypatch.setattr("worker.browser.profile._prepare", lambda *_: Preparation())
    with holder(visitor.profile.volume, visitor.profile.lock, "1.1") as other:
        with pytest.raises(LockHeld) as refused:
            await visitor.open()
        assert refused.value.holder is not None
        assert refused.value.holder.pid == other.pid


async def test_a_lower_fence_is_refused(visitor: Visitor) -> None:
    await (await visitor.open()).close()
    await (await visitor.open()).close()
    visitor.counter = 0
    with pytest.raises(LowerFence):
        await visitor.open()


async def test_the_lock_is_free_soon_after_sigkill(visitor: Visitor, record_property: pytest.RecordProperty) -> None:
    browser = await visitor.open()
    began = time.monotonic()
    processes.end(browser.process)
    while isinstance(locks.prove_gone(visitor.profile.volume, visitor.profile.lock), Alive):
        assert time.monotonic() - began < 30  # it takes some 0.03 s; a lock that stays is never free
    record_property("seconds", round(time.monotonic() - began, 3))
    assert processes.session_members(browser.process.pid) == []
    await browser.close()


async def test_a_frozen_browser_holds_its_lock(visitor: Visitor) -> None:
    browser = await visitor.open()
    processes.end(browser.process, signal.SIGSTOP)
    assert isinstance(locks.prove_gone(visitor.profile.volume, visitor.profile.lock), Alive)
    await browser.kill()
    assert isinstance(locks.prove_gone(visitor.profile.volume, visitor.profile.lock), Gone)


async def test_the_lock_is_in_the_main_process_alone(visitor: Visitor) -> None:
    browser = await visitor.open()
    await browser.new_page()
    family = processes.tree(browser.process)
    holding = [p.pid for p in family if str(visitor.profile.lock) in _open_files(p.pid)]
    assert len(family) > 4
    assert holding == [browser.process.pid]
    await browser.close()


async def test_driver_and_lock_of_the_driver_end_together(visitor: Visitor) -> None:
    where, driver = visitor.profile.volume, visitor.driver
    assert isinstance(locks.prove_gone(where, driver.lock), Alive)
    browser = await visitor.open()
    assert str(driver.lock) not in {name for p in processes.tree(browser.process) for name in _open_files(p.pid)}
    processes.end(driver.process)
    await browser.gone()
    await driver.gone()
    await browser.close()
    assert isinstance(locks.prove_gone(where, driver.lock), Gone)


def _open_files(pid: int) -> set[str]:
    return {os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()}


async def test_singletons_of_another_host_do_not_stop_the_lock_holder(visitor: Visitor) -> None:
    await (await visitor.open()).close()
    link = visitor.profile.user_data / "SingletonLock"
    link.symlink_to("another-host-4711")
    browser = await visitor.open()
    assert browser.preparation.removed == ("SingletonLock -> another-host-4711",)
    await browser.close()


async def test_a_headless_shell_is_refused_for_a_profile(
    driver: Driver, visitor: Visitor, browsers: Browsers, options: BrowserOptions
) -> None:
    assert browsers.shell is not None
    with pytest.raises(ProfileBinary):
        await open_profile(driver, visitor.profile, Fence(1, 1), browsers.shell, options)
    with pytest.raises(ProfileBinary):
        find_browsers(chromium=browsers.shell)


async def test_no_port_is_open_for_debuggers(visitor: Visitor) -> None:
    browser = await visitor.open()
    command = Path(f"/proc/{browser.process.pid}/cmdline").read_text().split("\0")
    assert "--remote-debugging-pipe" in command
    assert not any(argument.startswith("--remote-debugging-port") for argument in command)
    assert _listening_ports(browser.process.pid) == []
    await browser.close()
    with pytest.raises(BrowserFailed):
        BrowserOptions(tmp=visitor.options.tmp, args=("--remote-debugging-port=9222",))


def _listening_ports(pid: int) -> list[str]:
    listing = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if f"pid={pid}," in line]


async def test_nothing_of_ours_is_in_the_browsers_environment(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    browser = await visitor.open()
    environment = Path(f"/proc/{browser.process.pid}/environ").read_bytes()
    assert Path(f"/proc/{browser.process.pid}/cwd").readlink() == visitor.options.tmp
    assert b"hunter2" not in environment
    assert b"KOALA" not in environment
    await browser.close()


async def test_the_network_runs_in_the_browsers_own_process(
    visitor: Visitor, driver: Driver, browsers: Browsers, options: BrowserOptions
) -> None:
    """V26: a network process of its own would outlive the lock."""
    browser = await visitor.open()
    await visitor.log_in(browser)
    warm = WarmShell(driver, browsers.for_throw_away(), options)
    page = await (await warm.context(Fence(1, 9))).new_page()
    await page.goto(visitor.shop)
    assert warm.process is not None
    for main in (browser.process, warm.process):
        assert not [p for p in processes.tree(main) if b"NetworkService\0" in _command(p.pid)]
    await warm.close(settled=True)
    await browser.close()


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
