"""The canary: the one task that a slot on trial runs, on a profile of its own that is thrown away afterwards.

It proves that a browser starts here, opens a page, keeps a cookie and runs a page's script; it needs no network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koala.errors import InvalidArguments, KoalaError
from koala.units import seconds
from koala.workflow import Limits, NoArgs, Registry, workflow

if TYPE_CHECKING:
    from koala.run import Run

NAME = "koala.canary"
PROFILES = "canary-"
"""What the names of its profiles begin with, and of no others: they are removed with all that is in them."""

SITE = "https://koala-canary.invalid/"
PAGE = "<!doctype html><title>egg</title><h1>canary</h1>"
SCRIPT = """word => {
  document.cookie = `canary=${word}; Secure; Max-Age=3600`;
  document.title = word;
  return [document.cookie, document.title];
}"""
WORD = "sings"


class CanaryDied(KoalaError):
    """The page did not say what it was told: this browser is not to be trusted with work."""

    code = "canary_died"


@workflow(NAME, profile="required", limits=Limits(runtime=seconds(60), attempts=2))
async def canary(run: Run, args: NoArgs) -> dict[str, str]:
    """Open a page, set a cookie and a title by script, and read them back; the browser's version."""
    page = await run.page()
    return {"browser": await run.step("sing", lambda: _sing(page))}


async def _sing(page: Any) -> str:
    await page.route(f"{SITE}**", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
    await page.goto(SITE)
    said = await page.evaluate(SCRIPT, WORD)
    kept = [cookie["value"] for cookie in await page.context.cookies(SITE) if cookie["name"] == "canary"]
    if said != [f"canary={WORD}", WORD] or kept != [WORD]:
        raise CanaryDied(f"the page said {said} and the browser kept {kept}")
    return str(page.context.browser.version)


def known() -> Registry:
    """What a slot on trial runs: the canary alone."""
    return Registry([canary])


def check_profile(workflow: str, profile: str) -> str:
    """The profile's name, if this workflow may have it. Raises InvalidArguments.

    A canary on a profile with logins would remove them; other work on a canary's would lose them.
    """
    if workflow == NAME and not profile.startswith(PROFILES):
        raise InvalidArguments(f"{NAME} throws its profile away: give a new name that begins with {PROFILES}")
    if workflow != NAME and profile.startswith(PROFILES):
        raise InvalidArguments(f"profiles that begin with {PROFILES} are thrown away by {NAME}: use another name")
    return profile
