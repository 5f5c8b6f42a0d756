"""`koala tasks`, `task`, `cancel`, `retry` and `attempt gone`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from koala import keys, leases, redaction, tasks
from koala.cli import listing
from koala.store import Store
from tests.support.cli import Cli
from tests.support.pool import OPERATION, Pool, unchanged
from tests.support.redis_server import RedisServer

EVIL = "\x1b[2J\x1b]0;owned\x07 [red]loud[/red] \u202egnp.exe \r overwritten"


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


class TestList:
    def test_the_newest_are_first_whatever_they_did_since(
        self, koala: Cli, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also when an index has to be read in pages, and old tasks entered their status last."""
        monkeypatch.setattr(listing, "PAGE", 3)
        made = []
        for number in range(20):
            made.append(pool.submit())
            pool.put(made[-1], created_ms=made[0].created_ms - 100 + number)
        for task in made[:10]:
            tasks.cancel(pool.store, task.id, "ann")
        later = pool.submit(due_ms=tasks.now_ms(pool.store) + 9_000_000)
        pool.put(later, created_ms=made[0].created_ms - 101)
        shown = [row["id"] for row in koala.ok("tasks", "--json", "--limit", "14").data]
        assert shown == [task.id for task in reversed(made)][:14]
        everything = koala.ok("tasks", "--json").data
        assert len(everything) == 20
        assert koala.ok("tasks", "--json", "--limit", "21").data[-1]["id"] == later.id

    def test_status_workflow_and_profile_narrow_it(self, koala: Cli, pool: Pool) -> None:
        for profile in ("anna", "bob", ""):
            pool.submit(profile)
        news = pool.submit("anna", workflow="news")
        running = pool.start(news)
        tasks.cancel(pool.store, pool.submit().id, "ann")
        assert [row["id"] for row in koala.ok("tasks", "--json", "--status", "running").data] == [news.id]
        annas = koala.ok("tasks", "--json", "--profile", "anna").data
        assert {row["workflow"] for row in annas} == {"shop", "news"}
        both = koala.ok("tasks", "--json", "--status", "running", "--status", "cancelled").data
        assert [row["status"] for row in both] == ["cancelled", "running"]
        assert running.task.id in koala.ok("tasks", "--workflow", "news").out

    def test_each_waiting_task_says_why_and_how_many_are_ahead(self, koala: Cli, pool: Pool) -> None:
        pool.slot("s1")
        pool.running("anna")
        rows = {pool.submit("anna").id: ahead for ahead in range(3)}
        shown = {row["id"]: row["why"] for row in koala.ok("tasks", "--status", "ready", "--json").data}
        assert {id_: why["ahead"] for id_, why in shown.items()} == rows
        assert {why["reason"] for why in shown.values()} == {"profile"}
        assert "2 ahead, profile anna is in use" in koala.ok("tasks").out

    def test_the_ids_are_whole_on_a_narrow_terminal(self, koala: Cli, pool: Pool) -> None:
        koala.columns = 80
        task = pool.submit("a-profile-with-a-rather-long-name", workflow="a.workflow.with.a.long.name")
        lines = koala.ok("tasks").out.splitlines()
        assert any(line.startswith(task.id) for line in lines)
        assert max(map(len, lines)) <= 80

    def test_none_is_told_on_standard_error_only(self, koala: Cli) -> None:
        said = koala.ok("tasks")
        assert (said.out, said.err) == ("", "no such tasks\n")
        assert koala.ok("tasks", "--json").data == []

    def test_a_status_that_there_is_not_is_refused(self, koala: Cli) -> None:
        assert "use later, ready" in koala.fails(2, "invalid_arguments", "tasks", "--status", "ended")

    def test_a_list_that_is_not_whole_says_so(self, koala: Cli, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listing, "PAGE", 2)
        monkeypatch.setattr(listing, "MOST", 4)
        for _ in range(8):
            pool.submit()
        said = koala.ok("tasks", "--workflow", "rare", "--json")
        assert said.data == []
        assert "only the newest part" in said.err


class TestOne:
    def test_everything_about_it_is_there(self, koala: Cli, pool: Pool) -> None:
        koala.more["KOALA_DATA"] = "/data"
        attempt = pool.sent(pool.running("anna", dedupe="k-1", priority=2))
        pool.receipt(attempt, number=4711)
        attempt.step("look")
        attempt.checkpoint("look", '{"price": 19}')
        attempt.record("artifact", {"file": "cart.png"}, {"progress": '{"done": 3, "of": 10, "text": "pages"}'})
        attempt.gone("reaped")
        attempt.release("done", {"result": '{"order": 4711}', "reason": "done"})
        task, fence = attempt.task, attempt.fence
        found = koala.ok("task", task.id, "--json").data
        assert (found["id"], found["status"], found["args"]) == (task.id, "done", {"n": 1})
        assert found["result"] == {"order": 4711}
        assert found["checkpoints"] == {"look": {"price": 19}}
        (effect,) = found["effects"]
        assert (effect["operation"], effect["state"], effect["try"]) == (OPERATION, "happened", 1)
        assert effect["receipt"] == {"order": 4711}
        (made,) = found["attempts_made"]
        assert (made["fence"], made["outcome"], made["gone"]["because"]) == (fence, "done", "reaped")
        assert found["artifacts"] == [f"/data/artifacts/{task.id}/{fence}/cart.png"]
        assert found["timeline"][0]["action"] == "task_submitted"
        assert found["why"]["reason"] == "—"
        shown = koala.ok("task", task.id).out
        for text in ("shop@1 as anna", "k-1", "3 of 10 pages", "4711", "look", "cart.png", "step look is saved"):
            assert text in shown

    def test_a_task_in_review_names_its_question(self, koala: Cli, pool: Pool) -> None:
        question = pool.ask(pool.sent(pool.running()))
        found = koala.ok("task", question.task, "--json").data
        assert found["review"]["id"] == question.id
        assert found["review"]["allowed"] == ["happened", "did_not_happen", "look_again"]
        assert f"koala review show {question.id}" in koala.ok("task", question.task).out

    def test_an_unsettled_effect_and_the_end_that_waits_for_it_are_shown(self, koala: Cli, pool: Pool) -> None:
        task = pool.unknown()
        koala.ok("cancel", task.id, "--why", "ordered by phone")
        shown = koala.ok("task", task.id).out
        assert "it is to end as cancelled" in shown
        assert "ordered by phone" in shown
        assert "sent" in shown

    def test_an_unknown_id_is_refused(self, koala: Cli, store: Store) -> None:
        with unchanged(store):
            koala.fails(3, "not_found", "task", "nothing")


class TestHostileText:
    def test_nothing_that_a_task_says_reaches_the_terminal_as_it_is(self, koala: Cli, pool: Pool) -> None:
        attempt = pool.running("anna")
        attempt.step(EVIL)
        attempt.checkpoint(EVIL, json.dumps(EVIL))
        attempt.record("log", {"text": EVIL, EVIL: EVIL})
        attempt.record(EVIL, {EVIL: EVIL})
        attempt.record("artifact", {"file": EVIL}, {"progress": json.dumps({"done": EVIL, "of": EVIL, "text": EVIL})})
        at_work = koala.ok("status")
        question = pool.ask(pool.sent(attempt, EVIL, description=json.dumps({EVIL: EVIL})), operation=EVIL, why=EVIL)
        failed = pool.running()
        failed.release("cancelled", {"error": EVIL, "reason": EVIL, "result": json.dumps(EVIL)})
        views = [
            at_work,
            *(koala.ok(*words) for words in (
                ["tasks"], ["task", question.task], ["task", failed.task.id], ["review", "list"],
                ["review", "show", question.id], ["status"], ["tasks", "--json"], ["task", question.task, "--json"],
            )),
        ]  # fmt: skip
        for said in views:
            hidden = [char for char in said.out + said.err if not char.isprintable() and char != "\n"]
            assert not hidden, said
            assert "\u202e" not in said.out
        assert "[red]loud[/red]" in views[1].out

    def test_secrets_are_stars_in_text_and_json(self, koala: Cli, pool: Pool) -> None:
        redaction.know("correct-horse")
        attempt = pool.running()
        attempt.record("log", {"text": "typed correct-horse"})
        attempt.release("cancelled", {"error": "page said correct-horse", "reason": "correct-horse"})
        for words in (["task", attempt.task.id], ["task", attempt.task.id, "--json"], ["tasks"], ["tasks", "--json"]):
            said = koala.ok(*words)
            assert "correct-horse" not in said.out + said.err
            assert redaction.STARS in said.out

    def test_a_mounted_secret_is_stars_although_nobody_used_it_here(
        self, koala: Cli, pool: Pool, tmp_path: Path
    ) -> None:
        (tmp_path / "shop_password").write_text("battery-staple", "utf-8")
        koala.more["KOALA_SECRETS_DIR"] = str(tmp_path)
        attempt = pool.running()
        attempt.record("log", {"text": "typed battery-staple"})
        assert f"typed {redaction.STARS}" in koala.ok("task", attempt.task.id).out


class TestCancel:
    def test_a_waiting_task_ends_at_once(self, koala: Cli, pool: Pool) -> None:
        task = pool.submit()
        said = koala.ok("cancel", task.id, "--as", "ann", "--why", "no need")
        assert said.err == f"{task.id} is cancelled\n"
        assert (pool.status(task), pool.task(task).reason) == ("cancelled", "cancelled by ann: no need")

    def test_a_running_one_ends_at_its_next_step(self, koala: Cli, pool: Pool) -> None:
        attempt = pool.running()
        assert koala.ok("cancel", attempt.task.id, "--json").data == {"id": attempt.task.id, "ended": False}
        assert attempt.step("next")["go"] == "cancelled"

    def test_one_that_has_ended_or_is_not_there_is_refused(self, koala: Cli, pool: Pool) -> None:
        attempt = pool.running()
        attempt.release("done", {})
        with unchanged(pool.store):
            koala.fails(4, "refused", "cancel", attempt.task.id)
            koala.fails(3, "not_found", "cancel", "nothing")
            koala.fails(2, "invalid_arguments", "cancel", attempt.task.id, "--as", "a\x1bb")


class TestRetry:
    def test_an_ended_task_starts_again(self, koala: Cli, pool: Pool) -> None:
        task = pool.submit()
        tasks.cancel(pool.store, task.id, "ann")
        said = koala.ok("retry", task.id, "--as", "bob")
        assert (pool.status(task), pool.task(task).reason) == ("ready", "started again by bob")
        assert "starts again; capacity" in said.err

    def test_one_that_runs_waits_or_is_done_is_refused(self, koala: Cli, pool: Pool) -> None:
        done, running, ready = pool.running(), pool.running(), pool.submit()
        done.release("done", {})
        with unchanged(pool.store):
            for task in (done.task, running.task, ready):
                koala.fails(4, "refused", "retry", task.id)
            koala.fails(3, "not_found", "retry", "nothing")


class TestGone:
    def test_the_task_of_an_attempt_is_found_and_the_word_kept(self, koala: Cli, pool: Pool) -> None:
        attempt = pool.running("anna")
        for _ in range(30):
            pool.running()
        task = pool.lose(attempt)
        said = koala.ok("attempt", "gone", attempt.fence, "--because", "host b2 is off", "--as", "ann", "--json")
        assert said.data == {"fence": attempt.fence, "task": task.id, "first": True}
        report = leases.gone_report(pool.store, task.id, attempt.fence)
        assert report
        assert (report["by"], report["because"]) == ("ann", "host b2 is off")
        assert "host b2 is off, says ann" in koala.ok("task", task.id).out

    def test_the_first_word_stays(self, koala: Cli, pool: Pool) -> None:
        attempt = pool.running()
        task = pool.lose(attempt)
        attempt.gone("reaped")
        with unchanged(pool.store):
            said = koala.ok("attempt", "gone", attempt.fence, "--because", "again", "--task", task.id)
        assert "that report stays" in said.err

    def test_one_that_holds_its_lease_is_not_gone(self, koala: Cli, pool: Pool) -> None:
        attempt = pool.running()
        with unchanged(pool.store):
            koala.fails(4, "refused", "attempt", "gone", attempt.fence, "--because", "I think so")

    def test_what_is_unknown_or_not_said_is_refused(self, koala: Cli, pool: Pool) -> None:
        attempt = pool.running()
        pool.lose(attempt)
        other = pool.submit()
        with unchanged(pool.store):
            koala.fails(3, "not_found", "attempt", "gone", "1.1", "--because", "off")
            koala.fails(3, "not_found", "attempt", "gone", attempt.fence, "--because", "off", "--task", "none")
            koala.fails(3, "not_found", "attempt", "gone", attempt.fence, "--because", "off", "--task", other.id)
            koala.fails(2, "usage", "attempt", "gone", attempt.fence)
            koala.fails(2, "invalid_arguments", "attempt", "gone", attempt.fence, "--because", " ")
            koala.fails(2, "invalid_arguments", "attempt", "gone", "seven", "--because", "off")
        assert not pool.store.client.exists(keys.gone(attempt.task.id))
