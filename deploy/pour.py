"""Moving files between this machine and a container, through the standard streams: no mount, nobody else's user id."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from deploy.compose import Compose
from deploy.engine import failed, missing
from deploy.exits import Exit
from deploy.problem import Problem

CHUNK = 2**20


@dataclass(frozen=True)
class Sum:
    """A file's digest and size."""

    sha256: str
    bytes: int


def out(compose: Compose, target: Path, *args: str) -> Sum:
    """Standard output of a compose command as a new private file, durable. Raises Problem; then it is not complete.

    What the command says besides is shown.
    """
    running = _start(compose, args, subprocess.DEVNULL)
    assert running.stdout is not None  # noqa: S101 - it was asked for
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            summed = _copy(running.stdout, file)
    except OSError as error:
        raise full(error, target) from None
    finally:
        running.stdout.close()
        code = running.wait()
    if code:
        raise failed(("compose", *args), code, "what it said is above")
    return summed


def into(compose: Compose, source: Path, *args: str) -> str:
    """Give a file to a compose command as its standard input; its standard output. Raises DockerFailed."""
    with source.open("rb") as file:
        running = _start(compose, args, file)
        said, _ = running.communicate()
    if running.returncode:
        raise failed(("compose", *args), running.returncode, "what it said is above")
    return said.decode(errors="replace")


def total(path: Path) -> Sum:
    """Of a file that is there."""
    with path.open("rb") as file:
        return Sum(hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


def full(error: OSError, path: Path) -> Problem:
    """What a failed write is, for a person."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Problem(f"the disk of {path.parent} is full", "make room, or name another directory; nothing was kept")
    return Problem(f"{path} cannot be written: {error.strerror}", "name another directory", Exit.FAILED)


def _start(compose: Compose, args: tuple[str, ...], stdin: int | BinaryIO) -> subprocess.Popen[bytes]:
    engine = compose.engine
    try:
        return subprocess.Popen(
            ["docker", "compose", *args],
            cwd=engine.root,
            env={**engine.environ, **compose.environ},
            pass_fds=engine.lent,
            start_new_session=True,
            stdin=stdin,
            stdout=subprocess.PIPE,
        )
    except FileNotFoundError:
        raise missing() from None


def _copy(source: IO[bytes], target: IO[bytes]) -> Sum:
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(CHUNK):
        target.write(chunk)
        digest.update(chunk)
        size += len(chunk)
    target.flush()
    os.fsync(target.fileno())
    return Sum(digest.hexdigest(), size)
