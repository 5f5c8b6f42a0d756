"""Writes chromium.json, the system calls of a worker's container: python3 container/seccomp/make.py

The container has no capability at all, so there is no "if it has that capability" here, and the profile is shorter than
an engine's own: what every program needs (allowed.txt), and after it what Chromium's sandbox needs besides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROFILE = HERE / "chromium.json"

NEW_MOUNTS, NEW_CGROUP, NEW_NAMES, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NO_NAMESPACE_OF = NEW_MOUNTS | NEW_CGROUP | NEW_NAMES | NEW_IPC
"""The flags of clone and unshare for which the sandbox has no use. Users, processes and networks it makes anew."""

VSOCK = 40
"""Sockets to the hypervisor."""

LINUX, ANY_VERSION = (0x0, 0x20000), (0x8, 0x20008)
ASK = 0xFFFFFFFF
ENOSYS = 38


def profile() -> dict[str, Any]:
    """The whole of it. What is not named answers EPERM."""
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        # No 32-bit interface: nothing here needs it.
        "archMap": [{"architecture": f"SCMP_ARCH_{name}", "subArchitectures": []} for name in ("X86_64", "AARCH64")],
        "syscalls": [
            allow(*(HERE / "allowed.txt").read_text("utf-8").split()),
            allow("socket", where=[argument(0, "NE", VSOCK)]),
            *(allow("personality", where=[argument(0, "EQ", one)]) for one in (*LINUX, *ANY_VERSION, ASK)),
            # Chromium's sandbox. In the user namespace that it makes it may then chroot.
            *(allow(call, where=[argument(0, "MASKED_EQ", NO_NAMESPACE_OF)]) for call in ("clone", "unshare")),
            allow("chroot"),
            # Its flags are behind a pointer, where no filter sees them: C libraries go on with clone.
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS},
        ],
    }


def allow(*names: str, where: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """These calls, if their arguments are so."""
    return {"names": list(names), "action": "SCMP_ACT_ALLOW", "args": where or []}


def argument(index: int, how: str, value: int) -> dict[str, Any]:
    """A condition. MASKED_EQ: none of the bits of `value` is set."""
    return {"index": index, "value": value, "valueTwo": 0, "op": f"SCMP_CMP_{how}"}


def text() -> str:
    """The file."""
    return json.dumps(profile(), indent=1) + "\n"


if __name__ == "__main__":
    PROFILE.write_text(text(), "utf-8")
