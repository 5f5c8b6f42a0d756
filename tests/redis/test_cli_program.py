"""The command line as a program: its exit codes, its streams, and the commands of the worker program."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from koala import keys, tasks
from koala.cli import failure
from koala.exits import Exit
from koala.store import Store
from tests.support.cli import Cli
from tests.support.pool import Pool, unchanged
from tests.support.redis_server import RedisServer
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
KOALA = [sys.executable, "-c", "from koala.cli import main; main()"]

ECHO = """
import json, sys
print(json.dumps(sys.argv[1:]))
sys.exit(69)
"""


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


@pytest.fixture
def env(koala: Cli) -> dict[str, str]:
    return {**os.environ, **koala.env, "PYTHONPATH": str(ROOT)}


class TestHelp:
    def test_every_command_has_its_own_with_an_example(self, koala: Cli) -> None:
        groups = {"schedule": ("apply", "list", "show", "preview", "enable", "disable", "pause", "resume", "run-now",
                               "backfill"), "review": ("list", "show", "answer"), "attempt": ("gone",),
                  "profile": ("login", "import", "list", "export", "delete", "unlock")}  # fmt: skip
        single = ("submit", "status", "tasks", "task", "cancel", "retry", "pause", "resume", "workers", "drain",
                  "doctor", "run", "exits")  # fmt: skip
        for words in [[name] for name in single] + [[g, c] for g, some in groups.items() for c in some]:
            said = koala.ok(*words, "--help")
            assert f"Example: koala {' '.join(words)}" in said.out

    def test_the_first_one_fits_a_screen(self, koala: Cli) -> None:
        koala.columns = 80
        lines = koala.ok("--help").out.splitlines()
        assert len(lines) <= 45
        assert max(map(len, lines)) <= 80
        assert koala.ok().out.split() == koala.ok("--help").out.split()

    def test_the_version_is_told(self, koala: Cli) -> None:
        assert koala.ok("--version").out.count(".") == 2

    def test_the_exit_codes_are_those_of_the_one_table(self, koala: Cli) -> None:
        rows = koala.ok("exits", "--json").data
        assert {row["code"]: row["name"] for row in rows} == {
            **{int(code): code.name.lower() for code in Exit}, failure.INTERRUPTED: "interrupted",
        }  # fmt: skip
        assert all(row["meaning"] for row in rows)


class TestFailure:
    def test_no_store_is_7(self, koala: Cli) -> None:
        koala.url = "unix:///nowhere/redis.sock"
        for words in (["status"], ["tasks"], ["pause"], ["submit", "news"], ["review", "list"], ["workers"]):
            koala.fails(7, "store_away", *words)

    def test_a_store_that_stops_answering_is_7(self, own_redis: RedisServer) -> None:
        koala = Cli(own_redis.socket_url)
        koala.ok("status")
        own_redis.freeze()
        try:
            koala.fails(7, "store_away", "status")
        finally:
            own_redis.thaw()

    @pytest.mark.parametrize(
        ("setting", "value"), [("appendonly", "no"), ("appendfsync", "everysec"), ("maxmemory-policy", "allkeys-lru")]
    )
    def test_a_store_that_can_lose_writes_is_64(self, own_redis: RedisServer, setting: str, value: str) -> None:
        koala = Cli(own_redis.socket_url)
        koala.ok("status")
        with redis.Redis(unix_socket_path=str(own_redis.socket)) as client:
            client.config_set(setting, value)
        assert setting in koala.fails(64, "store_unsafe", "submit", "news")

    def test_a_newer_store_is_65(self, koala: Cli, store: Store) -> None:
        store.client.set(keys.SCHEMA, 999)
        koala.fails(65, "store_newer", "status")

    @pytest.mark.parametrize("url", ["nonsense", "redis://[", "redis://127.0.0.1:port/0"])
    def test_a_wrong_setting_is_66(self, koala: Cli, url: str) -> None:
        koala.url = url
        koala.fails(66, "settings", "status")
        koala.url = "redis://127.0.0.1"
        koala.more["KOALA_SLOTS"] = "many"
        assert "KOALA_SLOTS" in koala.fails(66, "settings", "status")

    def test_a_command_that_there_is_not_is_2(self, koala: Cli) -> None:
        koala.fails(2, "usage", "destroy")
        koala.fails(2, "usage", "review", "destroy")

    def test_a_fault_of_koala_is_one_line_too(self, koala: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        def fault(*_: object) -> None:
            raise RuntimeError("two\nlines \x1b[31m")

        monkeypatch.setattr(tasks, "cancel", fault)
        line = koala.fails(1, "unexpected", "cancel", "t1")
        assert "RuntimeError: two lines \\x1b[31m" in line
        with pytest.raises(RuntimeError):
            koala("--debug", "cancel", "t1")

    def test_a_record_that_cannot_be_read_is_no_traceback(self, koala: Cli, pool: Pool) -> None:
        task = pool.submit()
        pool.put(task, args="{broken")
        koala.fails(1, "unexpected", "task", task.id)


class TestWorkerProgram:
    """`koala` becomes `python -m worker`; a stand-in for that program, beside the user, tells what it was given."""

    @pytest.mark.parametrize(
        ("words", "passed"),
        [
            (["doctor"], ["doctor"]),
            (["doctor", "--json"], ["doctor", "--json"]),
            (
                ["run", "my file.py:order", "--arg", "a=1", "--arg", "b=-2 3", "--profile", "anna", "--headed",
                 "--act"],
                ["run", "my file.py:order", "--arg=a=1", "--arg=b=-2 3", "--profile=anna", "--headed", "--act"],
            ),
            (
                ["profile", "login", "anna", "--url", "https://shop.example/?a=1&b=2"],
                ["profile", "login", "anna", "--url=https://shop.example/?a=1&b=2"],
            ),
            (["profile", "import", "anna", "state.json"], ["profile", "import", "anna", "state.json"]),
            (["profile", "list", "--json"], ["profile", "list", "--json"]),
            (["profile", "export", "anna", "state.json"], ["profile", "export", "anna", "state.json"]),
            (["profile", "delete", "anna", "--yes"], ["profile", "delete", "anna", "--yes"]),
            (["profile", "delete", "anna"], ["profile", "delete", "anna"]),
            (["profile", "unlock", "anna", "--yes", "--because", "b2 is off"],
             ["profile", "unlock", "anna", "--because=b2 is off", "--yes"]),
        ],
    )  # fmt: skip
    def test_its_commands_are_passed_on_with_their_exit_code(
        self, env: dict[str, str], tmp_path: Path, words: list[str], passed: list[str]
    ) -> None:
        (tmp_path / "worker").mkdir()
        (tmp_path / "worker" / "__init__.py").touch()
        (tmp_path / "worker" / "__main__.py").write_text(ECHO, "utf-8")
        ended = subprocess.run([*KOALA, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert (json.loads(ended.stdout), ended.stderr, ended.returncode) == (passed, "", 69)

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("invalid_name", ["profile", "login", "../anna", "--url", "x"]),
            ("invalid_name", ["profile", "delete", "/", "--yes"]),
            ("invalid_name", ["profile", "export", "a/b", "f"]),
            ("usage", ["profile", "unlock", "anna"]),
        ],
    )
    def test_what_is_wrong_is_refused_before(
        self, koala: Cli, name: str, words: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def started(*given: object) -> None:
            raise AssertionError(f"started {given}")

        monkeypatch.setattr(os, "execv", started)
        koala.fails(2, name, *words)


def in_shell(env: dict[str, str], words: str) -> tuple[int, str]:
    """`koala WORDS` in a shell, where streams go elsewhere; its exit code and standard error."""
    line = f'set -o pipefail; koala() {{ {shlex.join(KOALA)} "$@"; }}; koala {words}'
    done = subprocess.run(["bash", "-c", line], env=env, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


class TestStreams:
    def test_a_command_leaves_no_traceback_when_its_reader_leaves(self, env: dict[str, str], pool: Pool) -> None:
        for _ in range(300):
            pool.submit()
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run(
            [*KOALA, "tasks", "--json", "--limit", "300"],
            stdout=writer,
            stderr=subprocess.PIPE,
            env=env,
            cwd=ROOT,
            check=False,
        )
        os.close(writer)
        assert ended.stderr == b""

    @pytest.mark.parametrize("words", ["status", "tasks --json", "exits", "--version"])
    def test_an_output_that_is_full_or_closed_is_named(self, env: dict[str, str], pool: Pool, words: str) -> None:
        pool.submit()
        for where, why in ((">/dev/full", "No space left"), (">&-", "Bad file descriptor")):
            code, err = in_shell(env, f"{words} {where}")
            assert (code, err.count("\n")) == (Exit.UNTOLD, 1), err
            assert f"error[output]: standard output cannot be written: {why}" in err

    @pytest.mark.parametrize("words", ["", "--json"])
    def test_a_task_is_told_as_accepted_where_its_id_could_not_be_written(
        self, env: dict[str, str], store: Store, words: str
    ) -> None:
        """Whoever believes that nothing was done would order again."""
        code, err = in_shell(env, f"submit news {words} >/dev/full")
        (task_id,) = tasks.ids(store, "ready")
        assert code == Exit.UNTOLD
        assert f"task {task_id} is accepted" in err.splitlines()[-1]

    @pytest.mark.parametrize("where", [">/dev/full", "| true"])
    def test_what_was_done_is_told_where_its_outcome_could_not_be_written(
        self, env: dict[str, str], store: Store, where: str
    ) -> None:
        _, err = in_shell(env, f"pause --json {where}")
        assert "error[output]" in err
        assert "is paused" in err

    def test_a_standard_error_that_is_full_changes_nothing(self, env: dict[str, str], store: Store) -> None:
        assert in_shell(env, "submit news >/dev/null 2>/dev/full") == (0, "")
        assert len(tasks.ids(store, "ready")) == 1

    def test_a_terminal_of_few_letters_gets_escapes(self, env: dict[str, str], pool: Pool) -> None:
        task = pool.submit()
        pool.put(task, reason="größer")
        narrow = {**env, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
        ended = subprocess.run([*KOALA, "task", task.id], env=narrow, cwd=ROOT, capture_output=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert ended.stdout.isascii()

    def test_ctrl_c_ends_a_wait_cleanly_and_the_task_goes_on(self, env: dict[str, str], store: Store) -> None:
        process = subprocess.Popen(
            [*KOALA, "submit", "news", "--wait"], env=env, cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr
        lines = [process.stderr.readline(), process.stderr.readline()]
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
        (task_id,) = tasks.ids(store, "ready")
        assert task_id in lines[0]
        assert process.returncode == 130
        assert rest.splitlines()[-2:] == [
            f"no longer waiting; the task goes on: `koala task {task_id}`", "interrupted",
        ]  # fmt: skip

    def test_the_live_view_on_a_terminal_shows_the_task_and_its_steps(self, env: dict[str, str], pool: Pool) -> None:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*KOALA, "submit", "news", "--wait"],
            env={**env, "TERM": "xterm"}, cwd=ROOT, stderr=theirs, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        os.close(theirs)
        until(lambda: tasks.ids(pool.store, "ready"), "the task")
        attempt = pool.start(pool.task(tasks.ids(pool.store, "ready")[0]))
        attempt.step("look around")
        attempt.record("", {}, {"progress": '{"done": 3, "of": 10, "text": "pages"}'})
        seen = _read_until(ours, "3/10 pages")
        attempt.release("done", {"result": "5"})
        out, _ = process.communicate()
        os.close(ours)
        assert "news@1" in seen
        assert "step look around begins" in seen
        assert (process.returncode, out) == (0, "5\n")


def _read_until(descriptor: int, text: str) -> str:
    seen = ""
    while text not in seen:
        seen += os.read(descriptor, 4096).decode(errors="replace")
    return seen


def test_a_refused_command_line_changes_nothing(koala: Cli, store: Store) -> None:
    with unchanged(store):
        for words in (["pause", "--nonsense"], ["resume", "extra"], ["cancel"], ["drain", "a", "b"]):
            koala.fails(2, "usage", *words)
