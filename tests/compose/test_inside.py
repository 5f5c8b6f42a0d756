"""What the containers may do, asked from inside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.compose_pool import ComposePool

# Printed by a program inside the worker's container: of it, and of every process that a browser consists of.
LOOK = """
import json, os
from pathlib import Path
def status(pid):
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    return dict(line.split(':\\t', 1) for line in lines if ':\\t' in line)
def inside(pid, path):
    try:
        return os.listdir(f'/proc/{pid}/root{path}')
    except OSError as error:
        return error.strerror
def link(pid, kind):
    try:
        return os.readlink(f'/proc/{pid}/ns/{kind}')
    except OSError as error:
        return error.strerror
def processes():
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            words = Path(f'/proc/{pid}/cmdline').read_bytes().replace(b'\\0', b' ').decode()
            yield pid, words, status(pid)
        except OSError:
            pass
found = []
for pid, words, about in processes():
    found.append({'pid': pid, 'words': words, 'uid': about['Uid'].split()[0],
        'caps': about['CapEff'], 'bound': about['CapBnd'], 'seccomp': about['Seccomp'], 'no_new': about['NoNewPrivs'],
        'user': link(pid, 'user'), 'net': link(pid, 'net'),
        'root': inside(pid, '/'), 'secrets': inside(pid, '/run/secrets')})
print(json.dumps(found))
"""

GONE = "No such process"
"""What a renderer's root says: the sandbox has put it into the folder of a process that has ended."""

SPIES = """
import json, os
print(json.dumps({'root': os.access('/', os.W_OK) or os.access('/opt/koala/app', os.W_OK),
    'mounts': open('/proc/mounts').read(), 'environment': dict(os.environ)}))
"""


@pytest.fixture(scope="module")
def pool(shared: ComposePool) -> ComposePool:
    """The one that is left as it was found."""
    return shared


@pytest.fixture(scope="module")
def worker(pool: ComposePool) -> Iterator[str]:
    """The container in which a browser stands at a page of the shop."""
    id_ = pool.errand("test.browse", "inside", profile="ann", gates=["step"])
    pool.until_at("inside", "step")
    yield pool.worker_of(id_)
    pool.open_gate("inside", "step")
    pool.until_done(id_)


@pytest.fixture(scope="module")
def found(pool: ComposePool, worker: str) -> list[dict[str, Any]]:
    """Every process of that container."""
    looked: list[dict[str, Any]] = json.loads(pool.inside(worker, "python", "-c", LOOK))
    return looked


def of_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in found if f"--type={kind} " in one["words"]]


def test_nobody_is_root_or_has_a_capability(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert one["uid"] != "0", one
        assert one["no_new"] == "1", one
    # Chromium's own processes have all of them in a user namespace of theirs, which is worth nothing outside of it.
    outside = [one for one in found if "python" in one["words"] or "node" in one["words"].split(" ")[0]]
    assert len(outside) >= 5
    assert {one["caps"] for one in outside} == {"0" * 16}
    assert {one["bound"] for one in outside} == {"0" * 16}


def test_chromium_has_its_own_sandbox(found: list[dict[str, Any]]) -> None:
    """Renderers live in a user and a network namespace of their own, behind a filter, with an empty root."""
    main = next(one for one in found if one["words"].startswith("/usr/lib/chromium") and "--type=" not in one["words"])
    renderers = of_kind(found, "renderer")
    assert renderers
    assert "--no-sandbox" not in main["words"]
    for one in renderers:
        assert one["seccomp"] == "2", one
        assert one["user"] != main["user"], one
        assert one["net"] != main["net"], one


def test_secrets_are_out_of_a_renderers_sight(found: list[dict[str, Any]]) -> None:
    """Promise 6."""
    for one in of_kind(found, "renderer"):
        assert one["secrets"] in ("Permission denied", "No such file or directory", GONE), one
    program = next(one for one in found if one["words"].startswith("/usr/bin/tini") or "-m worker" in one["words"])
    assert "redis_password" in program["secrets"]


def test_the_root_is_read_only_and_no_secret_is_in_the_environment(pool: ComposePool, worker: str) -> None:
    spied = json.loads(pool.inside(worker, "python", "-c", SPIES))
    assert not spied["root"]
    assert any(line.split()[1] == "/" and line.split()[3].startswith("ro") for line in spied["mounts"].splitlines())
    for password in pool.passwords():
        assert password not in json.dumps(spied)
        assert password not in json.dumps(pool.inspect(worker))
        assert password not in pool.logs()


def test_pages_reach_the_world_and_nothing_private(pool: ComposePool) -> None:
    redis, me = pool.address("redis"), pool.address("worker")
    private = [
        f"http://{redis}:6379/",
        "http://redis:6379/",
        f"http://{me}:9464/metrics",
        "http://scheduler:9464/metrics",
        "http://127.0.0.1:9464/metrics",
        "http://localhost:9464/metrics",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]:9464/",
        f"http://{pool.gateway('pages')}:22/",
        "file:///run/secrets/redis_password",
        "file:///etc/passwd",
    ]
    sockets = [f"ws://{redis}:6379/", "ws://127.0.0.1:9464/"]
    id_ = pool.submit("test.visit", {"addresses": [pool.shop.url, *private, pool.shop.url, *sockets]})
    pool.until_done(id_, within_s=180)
    got = pool.result(id_)
    assert got[0] == "200"
    for address, answer in zip(private, got[1 : len(private) + 1], strict=True):
        assert answer in ("403", "503") or "ERR_" in answer, (address, answer)
    assert got[-len(sockets) :] == ["refused", "refused"]


@pytest.mark.parametrize("profile", ["", "bob"])
def test_neither_browser_shows_a_file(pool: ComposePool, profile: str) -> None:
    """An agent that goes where a page tells it must not read a secret aloud."""
    addresses = ["file:///run/secrets/redis_password", "view-source:file:///run/secrets/redis_password"]
    id_ = pool.submit("test.visit", {"addresses": addresses}, profile=profile)
    pool.until_done(id_)
    assert all("ERR_BLOCKED_BY_ADMINISTRATOR" in answer for answer in pool.result(id_)), pool.result(id_)
