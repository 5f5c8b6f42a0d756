"""`koala submit`: what is accepted, what is refused before anything is stored, and waiting for the result."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from koala import keys, tasks
from koala.attempt import Attempt
from koala.cli import watch
from koala.store import Store, open_store
from koala.tasks import Task
from tests.support.cli import Cli
from tests.support.pool import Pool, unchanged
from tests.support.redis_server import RedisServer
from tests.support.waiting import until


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


def only_task(store: Store) -> Task:
    (task,) = tasks.many(store, [id_ for status in keys.STATUSES for id_ in tasks.ids(store, status)])
    return task


@contextmanager
def worker(store: Store, work: Callable[[Attempt], object]) -> Iterator[None]:
    """Another thread that runs the first task that becomes ready."""
    pool = Pool(store)

    def run() -> None:
        until(lambda: tasks.ids(store, "ready"), "a task to run")
        work(pool.start(only_task(store)))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


class TestAccepted:
    def test_the_id_is_alone_on_standard_output_and_the_task_is_stored(self, koala: Cli, store: Store) -> None:
        said = koala.ok("submit", "shop", "--arg", "text=K-1", "--priority", "3", "--profile", "anna")
        task = only_task(store)
        assert said.out == f"{task.id}\n"
        assert "accepted, ready; capacity: no worker is there" in said.err
        assert (json.loads(task.args)["text"], task.priority, task.profile) == ("K-1", 3, "anna")
        assert task.max_attempts == 2

    def test_json_has_the_id_and_the_status(self, koala: Cli, store: Store) -> None:
        said = koala.ok("submit", "news", "--json")
        assert said.data == {"id": only_task(store).id, "existing": False, "status": "ready"}

    def test_the_same_key_again_makes_no_second_task(self, koala: Cli, store: Store) -> None:
        first = koala.ok("submit", "news", "--key", "daily")
        again = koala.ok("submit", "news", "--key", "daily")
        assert first.out == again.out
        assert "that key is known" in again.err
        assert only_task(store).dedupe == "daily"

    def test_it_can_start_later_and_end_at_a_deadline(self, koala: Cli, store: Store) -> None:
        said = koala.ok("submit", "news", "--at", "2031-05-04T09:00Z", "--deadline", "2031-05-04T10:00Z")
        task = only_task(store)
        start = datetime(2031, 5, 4, 9, tzinfo=UTC)
        assert (task.status, task.due_ms) == ("later", start.timestamp() * 1000)
        assert task.deadline_ms - task.due_ms == 3_600_000
        assert "starts at 2031-05-04" in said.err

    def test_a_start_without_a_zone_is_local_and_the_zone_is_told(self, koala: Cli, store: Store) -> None:
        said = koala.ok("submit", "news", "--at", "2031-05-04T09:00")
        local = datetime(2031, 5, 4, 9).astimezone()
        assert only_task(store).due_ms == local.timestamp() * 1000
        assert f"09:00:00 {local.tzname()}" in said.err

    def test_a_deadline_can_be_a_span(self, koala: Cli, store: Store) -> None:
        koala.ok("submit", "news", "--deadline", "2h")
        task = only_task(store)
        assert abs(task.deadline_ms - task.created_ms - 7_200_000) < 60_000

    def test_arguments_can_come_from_standard_input(self, koala: Cli, store: Store) -> None:
        koala.ok("submit", "shop", "--args", "-", typed='{"text": "from a pipe"}')
        assert json.loads(only_task(store).args)["text"] == "from a pipe"

    def test_a_workflow_beside_the_user_is_found(
        self, koala: Cli, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "my_flows_here.py").write_text(
            "from koala import workflow\n@workflow('mine')\nasync def mine(run, args): ...\n", "utf-8"
        )
        monkeypatch.chdir(tmp_path)
        koala.more["KOALA_WORKFLOWS"] = "my_flows_here"
        koala.ok("submit", "mine")
        assert only_task(store).workflow == "mine"


class TestRefused:
    @pytest.mark.parametrize(
        ("code", "name", "words"),
        [
            (3, "unknown_workflow", ["nothing"]),
            (2, "invalid_arguments", ["shop", "--arg", "number=many"]),
            (2, "invalid_arguments", ["shop", "--arg", "unknown=1"]),
            (2, "invalid_arguments", ["shop", "--arg", "number"]),
            (2, "invalid_arguments", ["shop", "--args", "[]"]),
            (2, "invalid_arguments", ["banking"]),
            (2, "invalid_arguments", ["news", "--profile", "anna"]),
            (2, "invalid_name", ["shop", "--profile", "../anna"]),
            (2, "invalid_arguments", ["news", "--at", "tomorrow"]),
            (2, "invalid_arguments", ["news", "--deadline", "2001-01-01"]),
            (2, "invalid_arguments", ["news", "--deadline", "1h", "--at", "2031-01-01"]),
            (2, "invalid_arguments", ["news", "--timeout", "5"]),
            (2, "invalid_arguments", ["news", "--key", "k" * 201]),
            (2, "invalid_arguments", ["shop", "--args", "@/dev/zero"]),
            (2, "usage", ["news", "--priority", "10"]),
            (2, "usage", ["news", "--nonsense"]),
            (2, "usage", []),
        ],
    )
    def test_what_is_wrong_is_told_and_nothing_is_stored(
        self, koala: Cli, store: Store, code: int, name: str, words: list[str]
    ) -> None:
        with unchanged(store):
            koala.fails(code, name, "submit", *words)

    def test_arguments_over_the_limit_are_refused(self, koala: Cli, store: Store) -> None:
        big = json.dumps({"text": "x" * 256 * 1024})
        with unchanged(store):
            line = koala.fails(2, "payload_too_large", "submit", "shop", "--args", "-", typed=big)
        assert len(line) < 300

    def test_the_value_that_is_wrong_is_not_repeated(self, koala: Cli) -> None:
        assert "hunter3" not in koala.fails(2, "invalid_arguments", "submit", "shop", "--arg", "number=hunter3")

    def test_workflows_that_do_not_load_are_told(self, koala: Cli, store: Store) -> None:
        koala.more["KOALA_WORKFLOWS"] = "no.such.module"
        with unchanged(store):
            koala.fails(67, "workflows", "submit", "news")


class TestWait:
    def test_the_result_is_on_standard_output_and_the_way_there_on_standard_error(
        self, koala: Cli, store: Store
    ) -> None:
        def work(attempt: Attempt) -> None:
            attempt.step("look")
            attempt.checkpoint("look", "1")
            attempt.release("done", {"result": '{"price": 19}', "reason": "done"})

        with worker(store, work):
            said = koala.ok("submit", "news", "--wait")
        assert said.data == {"price": 19}
        told = [line.strip() for line in said.err.splitlines()]
        assert told.index("step look begins") < told.index("step look is saved") < told.index("the task is done")

    def test_json_is_the_whole_record(self, koala: Cli, store: Store) -> None:
        with worker(store, lambda attempt: attempt.release("done", {"result": "5"})):
            said = koala.ok("submit", "news", "--wait", "--json")
        assert (said.data["status"], said.data["result"], said.data["existing"]) == ("done", 5, False)

    def test_another_end_is_told_by_exit_code_5(self, koala: Cli, store: Store) -> None:
        with worker(store, lambda attempt: attempt.release("cancelled", {"reason": "sold out"})):
            said = koala("submit", "news", "--wait")
        assert (said.code, said.out) == (5, "")
        assert said.err.splitlines()[-1] == "cancelled: sold out"

    def test_a_question_for_a_person_ends_the_wait_with_6(self, koala: Cli, store: Store) -> None:
        pool = Pool(store)
        with worker(store, lambda attempt: pool.ask(pool.sent(attempt))):
            said = koala("submit", "news", "--wait")
        assert said.code == 6
        assert "koala review show" in said.err.splitlines()[-1]

    def test_time_that_runs_out_ends_the_wait_with_6_and_the_task_goes_on(self, koala: Cli, store: Store) -> None:
        said = koala("submit", "news", "--wait", "--timeout", "0.3")
        assert said.code == 6
        assert only_task(store).status == "ready"
        assert "capacity: no worker is there" in said.err

    def test_a_task_that_was_known_is_waited_for(self, koala: Cli, store: Store) -> None:
        koala.ok("submit", "news", "--key", "k")
        with worker(store, lambda attempt: attempt.release("done", {"result": "7"})):
            assert koala.ok("submit", "news", "--key", "k", "--wait").data == 7

    def test_a_store_that_goes_away_is_waited_for(
        self, own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        koala = Cli(own_redis.socket_url)
        store = open_store(own_redis.socket_url)
        looked, missed = threading.Event(), threading.Event()
        again = watch._again

        def told(*given: Any) -> watch.Sight:
            seen = again(*given)
            (missed if seen.away else looked).set()
            return seen

        def work(attempt: Attempt) -> None:
            assert looked.wait(60)
            own_redis.kill()
            assert missed.wait(60)
            own_redis.start()
            attempt.release("done", {"result": "9"})

        monkeypatch.setattr(watch, "_again", told)
        with worker(store, work):
            said = koala.ok("submit", "news", "--wait")
        assert said.data == 9
        assert "the store does not answer" in said.err
        store.close()
