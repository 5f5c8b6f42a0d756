"""A tab that never comes is opened again, and one that answers nobody counts as dead: Chromium tells of neither."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from koala.fence import Fence
from worker.browser import BrowserFailed, BrowserHung, BrowserOptions, tabs
from worker.pages import Pages


class Context:
    """A context whose first tabs never come, or fail."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    async def new_page(self) -> Any:
        answer = self.answers.pop(0)
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return answer


class Page:
    """A page that answers with a value, an error, or never."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def evaluate(self, _: str) -> Any:
        return await Context(self.answer).new_page()


async def test_a_tab_that_never_comes_is_opened_again() -> None:
    assert await tabs.open_tab(Context(None, PlaywrightError("Target crashed"), "tab"), 0.01) == "tab"  # type: ignore[arg-type, comparison-overlap]


async def test_a_browser_that_opens_no_tab_at_all_is_hung() -> None:
    with pytest.raises(BrowserHung):
        await tabs.open_tab(Context(None, None, None, "tab"), 0.01)  # type: ignore[arg-type]
    with pytest.raises(BrowserFailed):
        await tabs.open_tab(Context(*[PlaywrightError("closed")] * 3, "tab"), 0.01)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "answer", "died"),
    [
        (PlaywrightError("net::ERR_ABORTED; maybe frame was detached?"), None, "tab"),
        (PlaywrightError("net::ERR_ABORTED"), "here", ""),
        (PlaywrightError("Target closed"), PlaywrightError("closed"), ""),
        (PlaywrightTimeout("waiting for a button"), None, ""),
        (ValueError("the author's"), None, ""),
    ],
    ids=["silent", "answers", "closed", "slow", "not-playwright"],
)
async def test_after_an_error_of_the_browser_a_silent_page_counts_as_dead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, answer: Any, died: str
) -> None:
    """A page that computes for long is no dead one: after a timeout nobody asks."""
    monkeypatch.setattr(tabs.answers, "__defaults__", (0.01,))
    engine: Any = type("Engine", (), {"driver": None, "shell": type("Shell", (), {"is_alive": True})()})()
    pages = Pages(engine, "", Fence(1, 1), BrowserOptions(tmp=tmp_path), None)  # type: ignore[arg-type]
    pages._context, pages._page = Context(), Page(answer)  # type: ignore[assignment]
    await pages.look_after(error)
    assert pages.failed() == died
