"""The store's access list against the scripts: Redis checks what a script does as if its caller had sent it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.access import TEMPLATE, USERS, maker

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "koala" / "store" / "lua"
PUSH = ROOT / "koala" / "queue" / "push.lua"

WORKER, SCHEDULER, OPERATOR = "worker", "scheduler", "operator"
RUNS = {
    "acquire": {WORKER},
    "answer": {OPERATOR},
    "cancel": {OPERATOR, SCHEDULER},
    "checkpoint": {WORKER},
    "counts_fold": {SCHEDULER},
    "drop": {OPERATOR},
    "effect_forget": {SCHEDULER},
    "effect_look": {WORKER},
    "effect_sent": {WORKER},
    "effect_settle": {WORKER},
    "expire": {SCHEDULER},
    "forget": {SCHEDULER},
    "gone": {WORKER, OPERATOR},
    "handover": {WORKER, SCHEDULER},
    "hold": {OPERATOR},
    "leader": {SCHEDULER},
    "open_store": {WORKER, SCHEDULER, OPERATOR},
    "profile": {WORKER, OPERATOR},
    "promote": {SCHEDULER},
    "push": {WORKER, SCHEDULER},
    "record": {WORKER},
    "release": {WORKER},
    "renew": {WORKER, OPERATOR},
    "rescue": {SCHEDULER},
    "restore_begin": {OPERATOR},
    "restore_finish": {OPERATOR},
    "restore_task": {OPERATOR},
    "retry": {OPERATOR},
    "schedule_drop": {OPERATOR},
    "schedule_put": {OPERATOR},
    "schedule_set": {OPERATOR},
    "schedule_step": {OPERATOR, SCHEDULER},
    "slot": {WORKER},
    "starts": {SCHEDULER},
    "step": {WORKER},
    "submit": {OPERATOR, WORKER},
    "unhand": {WORKER, SCHEDULER},
}
"""Who runs each script."""

NOBODY = (
    *("flushall", "flushdb", "keys", "config|set", "config|rewrite", "acl|setuser", "acl|list", "debug", "shutdown"),
    *("replicaof", "slaveof", "module", "module|load", "monitor", "client|kill", "subscribe", "publish", "migrate"),
    *("restore", "swapdb", "function", "function|load", "script|flush", "save", "failover", "select", "move", "rename"),
)


def granted(user: str) -> set[str]:
    """The commands that a user may send."""
    listed = maker.render(TEMPLATE, {name: ["0" * 64] for name in USERS})
    line = next(line for line in listed.splitlines() if line.split()[1] == user)
    return {word[1:] for word in line.split() if word.startswith("+")}


def sends(script: str) -> set[str]:
    """The commands that a script can send, those of the shared part in front of it too."""
    files = [PUSH] if script == "push" else [SCRIPTS / f"{script}.lua", SCRIPTS / "common.lua"]
    calls = re.compile(r"""redis\.p?call\(\s*['"](\w+)""")
    return {name.lower() for file in files for name in calls.findall(file.read_text("utf-8"))}


def test_of_every_script_it_is_known_who_runs_it() -> None:
    """A new one: say so above, and give its commands to those users in container/redis/users.acl."""
    assert {path.stem for path in SCRIPTS.glob("*.lua")} - {"common"} | {"push"} <= RUNS.keys()


@pytest.mark.parametrize(
    "script", [script for script in RUNS if script == "push" or (SCRIPTS / f"{script}.lua").exists()]
)
def test_whoever_runs_a_script_may_send_all_that_it_sends(script: str) -> None:
    for user in RUNS[script]:
        missing = sends(script) - granted(user)
        assert not missing, f"{user} runs {script}: give it {sorted(missing)} in container/redis/users.acl"
        assert {"eval", "evalsha"} <= granted(user)


def test_no_command_is_sent_in_a_way_that_this_test_does_not_see() -> None:
    for file in [*SCRIPTS.glob("*.lua"), PUSH]:
        text = file.read_text("utf-8")
        assert len(re.findall(r"redis\.p?call", text)) == len(re.findall(r"""redis\.p?call\(\s*['"]\w+['"]""", text)), (
            file
        )


def test_its_users() -> None:
    assert USERS == ["worker", "scheduler", "operator", "gateway", "console", "exporter"]


@pytest.mark.parametrize("user", [*USERS, "health"])
def test_nobody_may_empty_reconfigure_or_stop_the_store(user: str) -> None:
    assert not granted(user) & set(NOBODY)
    assert not {command for command in granted(user) if command.startswith("@")}, "single commands only, no categories"


def test_who_has_no_password_is_off_and_no_comment_is_left() -> None:
    """Redis refuses a list with a comment, and starts with nobody let in by a name that has no password."""
    listed = maker.render(TEMPLATE, {"worker": ["ab" * 32, "cd" * 32]})
    lines = {line.split()[1]: line for line in listed.splitlines()}
    assert lines["worker"].startswith(
        f"user worker on #{'ab' * 32} #{'cd' * 32} resetchannels ~koala:* ~rq:* -@all +ping"
    )
    assert lines["gateway"].startswith("user gateway off resetchannels")
    # As whom Redis reads its log: nobody gets in by that name, and nothing of the log may be forbidden to it.
    assert lines["default"] == "user default off resetpass ~* &* +@all"
    assert all(line.startswith("user ") for line in listed.splitlines())
