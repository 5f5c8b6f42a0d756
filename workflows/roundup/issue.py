"""Creating an issue, once."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from playwright.async_api import Page
from pydantic import BaseModel, ConfigDict, Field

from koala import ABSENT, Limits, Run, minutes, seconds, workflow


class IssueArgs(BaseModel):
    """The tracker's address with its name, without a slash at the end; who writes; and what."""

    model_config = ConfigDict(extra="forbid")

    tracker: str = Field(pattern=r"^https?://[^/]+/[^/]+$")
    user: str = "demo"
    title: str = Field(min_length=1, max_length=200)
    reference: str = Field(pattern=r"^[A-Za-z0-9-]{1,40}$")
    settle_s: float = Field(3.0, ge=0, le=600)

    @property
    def marked_title(self) -> str:
        """The title that carries our reference."""
        return f"{self.title} [{self.reference}]"


@workflow("roundup.issue", args=IssueArgs, profile="optional", limits=Limits(runtime=minutes(3), attempts=5))
async def issue(run: Run, args: IssueArgs) -> dict[str, Any]:
    """Log in, then create the issue."""
    page = await run.page()
    await log_in(run, page, args)
    receipt = await run.effect(
        "create_issue",
        key=args.reference,
        describe={"tracker": args.tracker, "title": args.marked_title},
        do=lambda op: create(page, args),
        confirm=lambda op: find(run, page, args),
        timeout=seconds(20),
        settle=seconds(args.settle_s),
    )
    return dict(receipt)


async def log_in(run: Run, page: Page, args: IssueArgs) -> None:
    """Log in, unless this browser is."""
    await page.goto(f"{args.tracker}/")
    if await page.get_by_role("link", name="Logout").count():
        return
    await page.locator("input[name=__login_name]").fill(args.user)
    await page.locator("input[name=__login_password]").fill(password(run))
    await page.get_by_role("button", name="Login").click()
    await page.get_by_role("link", name="Logout").wait_for()


def password(run: Run) -> str:
    """The mounted password, or the one that a demo tracker gives its user."""
    return run.secret("roundup_password").reveal() if run.has_secret("roundup_password") else "demo"


async def create(page: Page, args: IssueArgs) -> dict[str, str]:
    """Fill in the form and submit it."""
    await page.goto(f"{args.tracker}/issue?@template=item")
    await page.locator("input[name=title]").fill(args.marked_title)
    await page.locator("select[name=priority]").select_option(label="bug")
    await page.get_by_role("button", name="Submit New Entry").click()
    await page.wait_for_url(re.compile(r"/issue\d+(\?|$)"))
    return {"issue": page.url.split("/")[-1].split("?")[0]}


async def find(run: Run, page: Page, args: IssueArgs) -> Any:
    """The issue whose title carries our reference; ABSENT when the tracker's list has none."""
    await log_in(run, page, args)
    wanted = {"@columns": "id,title", "@filter": "title", "title": args.reference, "@sort": "id"}
    await page.goto(f"{args.tracker}/issue?{urlencode(wanted)}")
    await page.get_by_role("columnheader", name="Title").wait_for(timeout=5000)
    rows = page.locator("table.list tr", has_text=f"[{args.reference}]")
    if await rows.count() == 0:
        return ABSENT
    return {"issue": f"issue{(await rows.first.locator('td').first.inner_text()).strip()}"}
