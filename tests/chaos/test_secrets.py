"""Promise 6: a secret that a workflow puts wherever it can is nowhere: not in the store, a log or a command line."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis

from koala import reviews
from koala.reviews import Answer
from tests.support.live_pool import LivePool

SECRET = 'k0ala "pass/word" & \\more+ü%'
"""With everything that is written differently in JSON, URLs, HTML and Python's texts."""
PLAIN = "sleepy-koala-17"
PASSWORD = "redis-p4ss-of-the-pool"  # as a setting of the store's, which no child may have


def forms(secret: str) -> set[str]:
    """How a secret could be found."""
    quoted = {urllib.parse.quote(secret), urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret)}
    dumped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    twice = {json.dumps(text)[1:-1] for text in dumped}
    return {secret, *quoted, *dumped, *twice, repr(secret)[1:-1]}


@pytest.fixture(scope="module")
def leaky() -> Iterator[LivePool]:
    """A running pool with mounted secrets."""
    with LivePool() as pool:
        mount(pool, "shop_password", SECRET)
        mount(pool, "plain", PLAIN)
        mount(pool, "pin", str(pool.store.client.get("koala:epoch"))[:5])
        pool.start(2)
        yield pool


def mount(pool: LivePool, name: str, value: str) -> None:
    """Give the workflows a secret."""
    path = pool.home / "secrets" / name
    path.write_text(value)
    path.chmod(0o400)


def everything_stored(pool: LivePool) -> str:
    """Every key of the store with all it holds."""
    with redis.Redis.from_url(pool.redis.socket_url, decode_responses=True, encoding_errors="replace") as client:
        read = {
            "string": client.get,
            "hash": client.hgetall,
            "list": lambda key: client.lrange(key, 0, -1),
            "set": client.smembers,
            "zset": lambda key: client.zrange(key, 0, -1),
            "stream": client.xrange,
            "none": lambda _: "",  # it has gone since it was listed
        }
        return "\n".join(f"{key} {_flat(read[client.type(key)](key))}" for key in client.scan_iter(count=1000))


def _flat(value: object) -> str:
    """All texts in a reply, as they are and not as Python shows them."""
    if isinstance(value, dict):
        return " ".join(f"{_flat(name)} {_flat(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple, set)):
        return " ".join(map(_flat, value))
    return str(value)


def everything_written(pool: LivePool) -> str:
    """The logs of all programs and every file of the data volume."""
    files = (path for path in pool.volume.path.rglob("*") if path.is_file())
    return pool.output() + "".join(path.read_text(errors="replace") for path in files)


def assert_nowhere(secret: str, text: str) -> None:
    """No form of the secret is in the text."""
    found = [form for form in forms(secret) if form in text]
    assert not found, text[max(0, text.index(found[0]) - 200) :][:400]


SECRETS = {"shop_password": SECRET, "plain": PLAIN}


@pytest.mark.parametrize("name", SECRETS)
def test_a_leaked_secret_is_nowhere(leaky: LivePool, name: str) -> None:
    """Printed, logged, in progress, a result, a description, a receipt, an error with its URL, and a question."""
    good = leaky.errand("test.leaks", f"good-{name}", key=name)
    bad = leaky.errand("test.leaks", f"bad-{name}", key=name, what="error")
    asks = leaky.errand("test.leaks", f"asks-{name}", key=name, what="ask")
    leaky.until_done(good)
    leaky.until_status(bad, "failed")
    leaky.until_status(asks, "review")
    reviews.answer(leaky.store, leaky.question(asks).id, Answer.REJECT, "ann")

    stored, written = everything_stored(leaky), everything_written(leaky)
    assert "ValueError: no login with ********" in leaky.task(bad).error
    assert leaky.result(good)["value"] == "********"
    assert "logged ********" in stored
    assert "printed ********" in written
    assert_nowhere(SECRETS[name], stored)
    assert_nowhere(SECRETS[name], written)


@pytest.mark.parametrize("name", SECRETS)
def test_a_redacted_question_is_still_the_same_question(leaky: LivePool, name: str) -> None:
    """An approval of a description that holds a secret is found again, and asked for once."""
    id_ = leaky.errand("test.leaks", f"same-{name}", key=name, what="ask")
    leaky.until_status(id_, "review")
    reviews.answer(leaky.store, leaky.question(id_).id, Answer.APPROVE, "ann")
    leaky.until_done(id_)
    assert len(leaky.events(id_, "review_asked")) == 1
    assert leaky.orders(f"same-{name}") == 1


def test_a_secret_in_the_names_of_steps_and_effects_is_nowhere_and_they_stay_apart(leaky: LivePool) -> None:
    """Two keys that differ in their secret only are two effects."""
    ids = [
        leaky.errand("test.leaks", f"name-{name}", key=name, what="names", plan="effect_settle.before:child")
        for name in SECRETS
    ]
    leaky.until_done(*ids)
    stored = everything_stored(leaky)
    for name, secret in SECRETS.items():
        assert_nowhere(secret, stored)
        assert leaky.orders(f"name-{name}") == 1


def test_a_secret_that_looks_like_our_own_numbers_breaks_nothing(leaky: LivePool) -> None:
    """A PIN whose digits are in every fence."""
    id_ = leaky.errand("test.leaks", "pin", key="pin", plan="effect_sent.after:child")
    leaky.until_done(id_)
    assert leaky.orders("pin") == 1
    assert leaky.result(id_)["value"] == "********"


def test_no_secret_is_in_a_command_line_and_no_child_can_reach_the_store(leaky: LivePool) -> None:
    """The child's environment has neither the store's address nor its password."""
    id_ = leaky.errand("test.order", "look", gates=["step0"])
    leaky.until_at("look", "step0")
    child = psutil.Process(leaky.child_of(id_))
    lines = [" ".join(psutil.Process(p.pid).cmdline()) for one in leaky.programs() for p in one.tree()]
    leaky.open_gate("look", "step0")
    leaky.until_done(id_)

    environment = child.environ()
    assert not [name for name in environment if "REDIS" in name]
    assert str(leaky.redis.socket) not in str(environment)
    assert_nowhere(SECRET, "\n".join(lines))


def test_the_stores_password_is_nowhere(pool: LivePool) -> None:
    """Given in the address; a wrong one is said without being shown."""
    with redis.Redis.from_url(pool.redis.socket_url) as client:
        client.config_set("requirepass", PASSWORD)
    nobody = {"KOALA_REDIS_USER": "", "KOALA_REDIS_PASSWORD": ""}
    wrong = pool.worker(1, KOALA_REDIS_URL=pool.redis.url.replace("//", f"//:{PASSWORD[::-1]}@"), **nobody)
    assert wrong.wait() != 0
    right = pool.redis.url.replace("//", f"//:{PASSWORD}@")
    worker = pool.worker(1, KOALA_REDIS_URL=right, **nobody)
    scheduler = pool.scheduler(KOALA_REDIS_URL=right, **nobody)
    with redis.Redis.from_url(right) as client:
        pool.until(lambda: client.zcard("koala:slots"), "a slot")
    lines = [" ".join(psutil.Process(p.pid).cmdline()) for one in (worker, scheduler) for p in one.tree()]

    for secret in (PASSWORD, PASSWORD[::-1]):
        assert_nowhere(secret, pool.output())
        assert_nowhere(secret, "\n".join(lines))
        assert_nowhere(secret, "".join(_text(path) for path in pool.volume.path.rglob("*")))


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""
