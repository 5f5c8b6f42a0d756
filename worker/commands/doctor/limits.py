"""What the kernel and the container allow, against what the slots need."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from koala.clock import boottime
from koala.settings import Settings
from worker import capacity, cgroup, processes
from worker.capacity import FILES_A_BROWSER, PROCESSES_A_SLOT
from worker.commands.doctor.finding import Finding, fail, graded, ok, warn

SHM_MEGABYTES_A_SLOT = 256
MEGA = 1024**2
SHM = Path("/dev") / "shm"

FILES = "ulimit -n 65536, `LimitNOFILE=` in systemd, `ulimits: nofile:` in Compose"
PIDS = "`pids_limit:` in Compose, `TasksMax=` in systemd"


def files(config: Settings) -> Iterator[Finding]:
    """Open files, for each process; the worker's own counts too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield graded(
        "open files",
        f"{_number(soft)} allowed (at most {_number(hard)}), a browser needs up to {FILES_A_BROWSER}",
        f"raise it: {FILES}",
        fails=0 <= soft < FILES_A_BROWSER,
        warns=0 <= soft < 4 * FILES_A_BROWSER,
    )


def pids(config: Settings) -> Iterator[Finding]:
    """Processes and threads: of the container, and of the user."""
    need = config.slots * PROCESSES_A_SLOT
    most, used = cgroup.process_limit(), cgroup.limit("pids.current", "pids") or 0
    user = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    rooms = [most - used if most is not None else None, user if user >= 0 and os.geteuid() else None]
    room = min((number for number in rooms if number is not None), default=None)
    found = "no limit" if room is None else f"{room} more allowed"
    yield graded(
        "processes",
        f"{found}, {config.slots} slots need {need}",
        f"raise it to {need + 200} at least: {PIDS}",
        fails=room is not None and room < need / 2,
        warns=room is not None and room < need,
    )


def memory(config: Settings) -> Iterator[Finding]:
    """What is available, in the container where that is less."""
    need = capacity.needed(config) // MEGA
    machine = psutil.virtual_memory().available // MEGA
    limit = cgroup.memory_limit()
    used = cgroup.limit("memory.current", "memory", "memory.usage_in_bytes") or 0
    container = None if limit is None else (limit - used) // MEGA
    room = machine if container is None else min(machine, container)
    whose = "" if container is None else f" (the container's limit is {(limit or 0) // MEGA} MB)"
    yield graded(
        "memory",
        f"{room} MB available{whose}, {config.slots} slots need about {need} MB",
        "lower KOALA_SLOTS, or give it more memory: the kernel kills browsers otherwise",
        fails=room < config.slot_bytes // MEGA,
        warns=room < need,
    )


def shared_memory(config: Settings, used_by_browser: bool | None) -> Iterator[Finding]:
    """The shared memory file system. Playwright usually has the browser use temporary files instead."""
    try:
        found = os.statvfs(SHM)
    except OSError:
        yield warn("shared memory", f"{SHM} is missing", "mount it: some programs look for it")
        return
    size, need = found.f_blocks * found.f_frsize // MEGA, config.slots * SHM_MEGABYTES_A_SLOT
    if used_by_browser is False:
        yield ok("shared memory", f"{SHM} has {size} MB; the browser uses temporary files instead")
        return
    yield graded(
        "shared memory",
        f"{SHM} has {size} MB, {config.slots} slots need {need} MB",
        f"`shm_size: {need}m` in Compose: tabs crash without",
        fails=used_by_browser is True and size < SHM_MEGABYTES_A_SLOT,
        warns=size < need,
    )


def kernel() -> Iterator[Finding]:
    """What ending processes safely needs: /proc, pid descriptors, and a clock that runs in suspend."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        processes.this()
    except (OSError, RuntimeError) as error:
        yield fail("kernel", f"processes cannot be named safely: {error}", "Linux 5.10 or newer, with /proc mounted")
    else:
        yield ok("kernel", f"Linux {os.uname().release}, pid descriptors and /proc work")


def clock() -> Iterator[Finding]:
    """CLOCK_BOOTTIME: every trust in a lease goes by it."""
    before = boottime()
    time.sleep(0.01)
    if boottime() <= before:
        yield fail("clock", "CLOCK_BOOTTIME stands still", "use another machine: leases could not be trusted")
        return
    source = _text("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown"
    resolution = time.clock_getres(time.CLOCK_BOOTTIME)
    yield graded(
        "clock",
        f"CLOCK_BOOTTIME runs, source {source}, resolution {resolution * 1e9:.0f} ns",
        "a clock source that coarse makes leases jump: choose tsc or kvm-clock",
        fails=resolution > 0.1,
        warns=resolution > 0.001 or source == "jiffies",
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _number(limit: int) -> str:
    return "unlimited" if limit < 0 else str(limit)
