"""What a worker makes of the launch check, whatever becomes of the process that carries it out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from koala.errors import BrowserMissing
from koala.exits import Exit
from koala.settings import Settings
from worker import launchcheck
from worker.browser import Browsers
from worker.commands.doctor import launch


def settings() -> Settings:
    return Settings(_env_file=None)


def saying(monkeypatch: pytest.MonkeyPatch, code: str) -> list[int]:
    """Have the check be a process that does this; the list grows with each one that is started."""
    started: list[int] = []

    def asked(_: Settings) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(1)
        return subprocess.Popen([sys.executable, "-I", "-S", "-c", code], text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(launchcheck, "_asked", asked)
    return started


def test_browsers_that_come_up_let_a_worker_start(monkeypatch: pytest.MonkeyPatch) -> None:
    started = saying(monkeypatch, 'print(\'{"there": true, "fault": null, "do": null}\')')
    launchcheck.require(settings())
    assert len(started) == 1


def test_one_that_does_not_is_tried_twice_and_ends_it_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    started = saying(monkeypatch, 'print(\'{"there": true, "fault": "it died", "do": "mend it"}\')')
    with pytest.raises(BrowserMissing, match=r"^it died\. mend it$") as refused:
        launchcheck.require(settings())
    assert refused.value.exit == Exit.BROWSER
    assert len(started) == launchcheck.TRIES


@pytest.mark.parametrize(
    ("code", "said"), [("raise SystemExit('no module x')", "ended with 1: no module x"), ("pass", "it said nothing")]
)
def test_a_check_that_fails_itself_is_no_proof(monkeypatch: pytest.MonkeyPatch, code: str, said: str) -> None:
    saying(monkeypatch, code)
    with pytest.raises(BrowserMissing, match=said):
        launchcheck.require(settings())


async def test_one_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch, "import time; time.sleep(60)")
    assert "did not end within 0.5 s" in (await launchcheck.look(settings(), 0.5)).fault


def test_no_browser_at_all_is_for_pools_that_need_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "find_browsers", lambda *_: Browsers(None, None))
    assert launch.check(settings()) == {"there": False, "fault": "", "do": ""}
    saying(monkeypatch, 'print(\'{"there": false, "fault": "", "do": ""}\')')
    launchcheck.require(settings())
    said = capsys.readouterr()
    assert "no_browser" in said.out + said.err


def test_neither_a_worker_nor_its_slots_have_playwright_in_them() -> None:
    code = "import sys, worker.serving, worker.slot; sys.exit('playwright' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
