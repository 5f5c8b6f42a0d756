"""Chromium's own sandbox: whether it works here, and if not, what stands in its way."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from koala.exits import Exit
from koala.settings import Settings
from worker.commands.doctor.finding import Finding, fail, ok, warn

OPT_OUT = "KOALA_BROWSER_SANDBOX=0 goes without it, at a risk: then only trusted sites"


def sandbox(config: Settings, launched: bool, layered: bool | None) -> Iterator[Finding]:
    """`launched`: a browser came up with the setting as it is; `layered`: its renderers were seen inside a sandbox."""
    blocker, remedy = blocking()
    if not config.browser_sandbox:
        would = f"; {blocker} would block it" if blocker else "; it would work here"
        yield warn(
            "sandbox",
            f"turned off by KOALA_BROWSER_SANDBOX=0{would}",
            f"remove that setting, and {remedy}" if remedy else "remove that setting",
        )
    elif launched and layered is not False:
        yield ok("sandbox", "renderers run inside Chromium's own sandbox")
    else:
        found = f"{blocker} blocks it" if blocker else "it does not come up, for no reason known here"
        yield fail("sandbox", found, f"{remedy}; or {OPT_OUT}" if remedy else OPT_OUT, Exit.BROWSER)


def blocking() -> tuple[str, str]:
    """What blocks the sandbox and how to change that; both empty when nothing does."""
    if os.geteuid() == 0:
        return "running as root", "run as another user"
    if _namespaces_work() or _has_helper():
        return "", ""
    if _value("/proc/sys/kernel/unprivileged_userns_clone") == "0":
        return "the kernel (kernel.unprivileged_userns_clone=0)", "sysctl kernel.unprivileged_userns_clone=1"
    if _value("/proc/sys/user/max_user_namespaces") == "0":
        return "the kernel (user.max_user_namespaces=0)", "sysctl user.max_user_namespaces=15000"
    if _value("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "AppArmor (it restricts user namespaces)", "give Chromium an AppArmor profile that allows `userns`"
    if "Seccomp:\t2" in _value("/proc/self/status"):
        return "a seccomp profile (the container engine's)", "start the container with container/seccomp/chromium.json"
    return "something that forbids user namespaces", "allow them, or apt-get install chromium-sandbox"


def _namespaces_work() -> bool:
    """Whether this user may make the namespaces that the sandbox is made of."""
    if shutil.which("unshare") is None:
        return False
    asked = subprocess.run(
        ["unshare", "--user", "--pid", "--net", "--fork", "true"], capture_output=True, timeout=10, check=False
    )
    return asked.returncode == 0


def _has_helper() -> bool:
    """Chromium's set-uid helper does without user namespaces, unless new privileges are forbidden."""
    helper = Path("/usr/lib/chromium/chrome-sandbox")
    try:
        set_uid = helper.stat().st_uid == 0 and bool(helper.stat().st_mode & 0o4000)
    except OSError:
        return False
    return set_uid and "NoNewPrivs:\t0" in _value("/proc/self/status")


def layered(pids: list[int]) -> bool | None:
    """Whether any of a browser's processes is in a pid namespace below ours; None when that cannot be seen."""
    texts = [_value(f"/proc/{pid}/status") for pid in pids]
    nested = [line.split() for text in texts for line in text.splitlines() if line.startswith("NSpid:")]
    return any(len(fields) > 2 for fields in nested) if nested else None


def _value(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
