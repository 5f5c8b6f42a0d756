"""Ports of loopback for servers of tests."""

from __future__ import annotations

import contextlib
import random
import socket


def free_ports(number: int) -> list[int]:
    """So many, below those of outgoing connections: none of them can sit on one before its server does."""
    found: list[int] = []
    for port in random.sample(range(20_000, 32_000), 200):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == number:
            return found
    raise AssertionError("no free ports")
