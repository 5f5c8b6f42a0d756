"""The system calls of a worker's container: generated, as narrow as said, and enough for Chromium's sandbox."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "container" / "seccomp"
PROFILE: dict[str, Any] = json.loads((FOLDER / "chromium.json").read_text("utf-8"))

NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
NEW_MOUNTS, NEW_CGROUP, NEW_NAMES, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000


def allowed(call: str, first: int = 0) -> bool:
    """Whether the profile lets a call with this first argument through."""
    return any(
        call in rule["names"] and rule["action"] == "SCMP_ACT_ALLOW" and all(_holds(one, first) for one in rule["args"])
        for rule in PROFILE["syscalls"]
    )


def _holds(condition: dict[str, Any], first: int) -> bool:
    assert condition["index"] == 0
    value = condition["value"]
    return {
        "SCMP_CMP_EQ": first == value,
        "SCMP_CMP_NE": first != value,
        "SCMP_CMP_MASKED_EQ": first & value == condition["valueTwo"],
    }[condition["op"]]


def test_the_file_is_what_the_script_writes() -> None:
    """After a change: python3 container/seccomp/make.py"""
    made = runpy.run_path(str(FOLDER / "make.py"))["text"]()
    assert (FOLDER / "chromium.json").read_text("utf-8") == made


@pytest.mark.parametrize("call", ["clone", "unshare"])
def test_the_sandbox_makes_the_namespaces_it_needs_and_no_other(call: str) -> None:
    assert allowed(call, NEW_USER)
    assert allowed(call, NEW_USER | NEW_PID | NEW_NET)
    for refused in (NEW_MOUNTS, NEW_CGROUP, NEW_NAMES, NEW_IPC):
        assert not allowed(call, NEW_USER | refused)


@pytest.mark.parametrize(
    "call",
    [
        *("mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "setns", "bpf", "perf_event_open"),
        *("ptrace", "process_vm_readv", "pidfd_getfd", "keyctl", "add_key", "request_key", "userfaultfd", "kexec_load"),
        *("init_module", "finit_module", "io_uring_setup", "io_uring_enter", "open_by_handle_at", "reboot", "swapon"),
        *("clock_settime", "settimeofday", "syslog", "acct", "quotactl", "ioperm", "iopl", "modify_ldt", "clone3"),
    ],
)
def test_what_nothing_here_needs_is_closed(call: str) -> None:
    assert not allowed(call)


def test_only_the_machines_own_interface_is_open() -> None:
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
    assert not any(one["subArchitectures"] for one in PROFILE["archMap"])


def test_clone3_sends_programs_on_to_clone_instead_of_failing() -> None:
    (rule,) = [rule for rule in PROFILE["syscalls"] if "clone3" in rule["names"]]
    assert rule["errnoRet"] == 38
