"""Profiles after crashes, upgrades and roll-backs."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from koala.fence import Fence
from tests.support.visitor import Visitor
from worker import locks, processes
from worker.browser import ProfileBrowser, major_version
from worker.processes import Process
from worker.profiles import ProfileBinary, ProfileDamaged, ProfileNewer


async def _logged_in_and_closed(visitor: Visitor) -> None:
    browser = await visitor.open()
    await visitor.log_in(browser)
    assert await browser.close() == "clean"


def _tear(visitor: Visitor) -> None:
    cookies = visitor.profile.user_data / "Default" / "Cookies"
    whole = cookies.read_bytes()
    cookies.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))


async def _crashed(visitor: Visitor) -> None:
    await (await visitor.open()).kill()


async def test_a_torn_cookie_store_falls_back_to_the_last_good_snapshot_visibly(visitor: Visitor) -> None:
    await _logged_in_and_closed(visitor)
    await _crashed(visitor)
    _tear(visitor)
    browser = await visitor.open()
    assert browser.preparation.torn == ("Cookies",)
    assert str(browser.preparation.restored).startswith("good-")
    assert await visitor.is_logged_in(browser)
    assert (visitor.profile.path / "damaged" / "user-data" / "Default" / "Cookies").exists()
    await browser.close()


async def test_an_emptied_cookie_store_is_not_taken_for_a_new_one(visitor: Visitor) -> None:
    await _logged_in_and_closed(visitor)
    await _crashed(visitor)
    (visitor.profile.user_data / "Default" / "Cookies").write_bytes(b"")
    browser = await visitor.open()
    assert browser.preparation.torn == ("Cookies",)
    assert await visitor.is_logged_in(browser)
    await browser.close()


async def test_a_torn_profile_without_a_snapshot_is_refused_not_replaced(visitor: Visitor) -> None:
    browser = await visitor.open()
    await browser.barrier()
    await browser.kill()
    _tear(visitor)
    with pytest.raises(ProfileDamaged):
        await visitor.open()
    assert visitor.profile.record().state == "unclean"


async def test_a_profile_of_a_newer_version_is_refused_and_a_roll_back_restores_the_copy(
    visitor: Visitor,
) -> None:
    await _logged_in_and_closed(visitor)
    now = major_version(visitor.binary)
    _upgrade(visitor, now + 1)
    with pytest.raises(ProfileNewer, match=str(now + 1)):
        await visitor.open()
    browser = await visitor.open(roll_back=True)
    assert browser.preparation.restored == f"major-{now}"
    assert await visitor.is_logged_in(browser)
    await browser.close()


def _upgrade(visitor: Visitor, major: int) -> None:
    """As a newer Chromium would leave the profile."""
    profile = visitor.profile
    with locks.take(profile.volume, profile.lock, "newer", Fence(1, visitor.counter)) as held:
        profile.prepare(held, visitor.binary, major)
        (profile.user_data / "Last Version").write_text(f"{major}.0.1.2")
        (profile.user_data / "Default" / "Cookies").write_bytes(b"a format of tomorrow")


async def test_after_a_roll_back_a_torn_profile_falls_back_to_copies_of_its_own_version_alone(visitor: Visitor) -> None:
    """The newest good copy may be the newer browser's, which this one cannot read."""
    await _logged_in_and_closed(visitor)
    profile, major = visitor.profile, major_version(visitor.binary)
    own = profile.snapshots.last_good()
    newer = profile.snapshots.keep_good(major + 1)
    assert profile.snapshots.last_good() == newer
    await _crashed(visitor)
    _tear(visitor)
    browser = await visitor.open()
    assert own is not None
    assert browser.preparation.restored == own.name
    assert await visitor.is_logged_in(browser)
    await browser.close()


async def test_a_first_open_by_a_newer_version_keeps_a_copy(visitor: Visitor) -> None:
    await _logged_in_and_closed(visitor)
    older = major_version(visitor.binary) - 1
    (visitor.profile.user_data / "Last Version").write_text(f"{older}.0.0.0")
    browser = await visitor.open()
    assert browser.preparation.upgraded_from == older
    assert (visitor.profile.path / "snapshots" / f"major-{older}" / "user-data" / "Default" / "Cookies").exists()
    await browser.close()


async def test_the_binary_that_made_a_profile_is_kept_until_it_is_adopted(visitor: Visitor) -> None:
    await _logged_in_and_closed(visitor)
    record = dataclasses.replace(visitor.profile.record(), binary="/opt/else/chrome")
    record.save(visitor.profile.path / "profile.json")
    with pytest.raises(ProfileBinary, match="/opt/else/chrome"):
        await visitor.open()
    browser = await visitor.open(adopt=True)
    assert await visitor.is_logged_in(browser)
    await browser.close()


async def test_an_unclean_profile_that_is_whole_is_opened_as_it_is(visitor: Visitor) -> None:
    await _crashed(visitor)
    browser = await visitor.open()
    assert browser.preparation.was_unclean
    assert browser.preparation.restored is None
    await browser.close()


@pytest.mark.parametrize("file", ["Cookies", "Login Data", "Local Storage/leveldb", "Web Data-journal"])
async def test_a_browser_killed_while_it_makes_its_profile_costs_nothing(visitor: Visitor, file: str) -> None:
    """Half-made databases are new, not torn: there is no login to lose and no snapshot to fall back to."""
    opening = asyncio.ensure_future(visitor.open())
    made = visitor.profile.user_data / "Default" / file
    async with asyncio.timeout(30):
        while not made.exists():  # noqa: ASYNC110 - the browser makes it, not we
            await asyncio.sleep(0.001)
    holder = locks.read(visitor.profile.volume, visitor.profile.lock)
    assert holder is not None
    processes.end(Process(holder.pid, holder.started))
    for result in await asyncio.gather(opening, return_exceptions=True):
        if isinstance(result, ProfileBrowser):
            await result.kill()
    again = await visitor.open()
    assert again.preparation.was_unclean
    assert not again.preparation.torn
    assert await again.close() == "clean"
