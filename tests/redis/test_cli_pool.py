"""`koala status`, `workers`, `pause`, `resume` and `drain`."""

from __future__ import annotations

import threading

import pytest

from koala import keys, slots, switches
from koala.store import Store
from tests.support.cli import Cli
from tests.support.pool import CLASS, Pool, unchanged
from tests.support.redis_server import RedisServer
from tests.support.waiting import until


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


def lead(store: Store, who: str = "scheduler-1") -> None:
    store.run("leader", [keys.LEADER], who, 60_000, "{}")


class TestStatus:
    def test_an_empty_pool_says_what_is_missing(self, koala: Cli) -> None:
        shown = koala.ok("status").out
        for text in ("none yet", "no worker is there", "none leads", "none open", "durable"):
            assert text in shown

    def test_the_pool_at_a_glance(self, koala: Cli, pool: Pool) -> None:
        lead(pool.store)
        for slot in ("s1", "s2"):
            pool.slot(slot)
        attempt = pool.running("anna")
        attempt.step("look")
        attempt.record("", {}, {"progress": '{"done": 3, "of": 10}'})
        oldest = pool.submit("anna")
        pool.submit()
        question = pool.ask(pool.sent(pool.running("bob", workflow="news")))
        switches.turn_on(pool.store, "workflow:rare", "ann", "closed")
        found = koala.ok("status", "--json").data
        assert found["tasks"]["running"] == 1
        assert found["waiting"] == {"profile": 1, "capacity": 1}
        assert found["oldest_waiting"]["id"] == oldest.id
        assert found["oldest_waiting"]["why"]["reason"] == "profile"
        assert [(slot["slot"], slot["state"]) for slot in found["slots"]] == [("s1", "busy"), ("s2", "idle")]
        assert [(task["id"], task["last"]) for task in found["running"]] == [
            (attempt.task.id, "step look begins (3 of 10)")
        ]
        assert found["reviews"] == [question.id]
        assert [item["name"] for item in found["switches"]] == ["workflow:rare"]
        assert found["scheduler"] == "scheduler-1"
        assert found["store"]["durable"] is True
        shown = koala.ok("status").out
        for text in ("2 ready", "1 profile", "2 on 1 worker: 1 busy, 1 idle", "1 open", "workflow rare is paused"):
            assert text in shown

    def test_what_each_image_has_done_so_that_a_roll_out_can_compare(self, koala: Cli, pool: Pool) -> None:
        for image, outcome in (("old", "done"), ("new", "crashed")):
            attempt = pool.running()
            attempt.image = image
            attempt.release(outcome, {"crash": "browser" if outcome == "crashed" else None})
        found = koala.ok("status", "--json").data["counts"]
        assert found["new"] == {"attempts": {"shop": {"crashed": 1}}, "ended": {}, "crashes": {"browser": 1}}
        assert found["old"]["ended"] == {"shop": {"done": 1}}

    def test_a_scheduler_whose_lead_has_ended_does_not_lead(self, koala: Cli, store: Store) -> None:
        lead(store)
        store.client.hset(keys.LEADER, "expires_ms", 1)
        assert koala.ok("status", "--json").data["scheduler"] is None

    def test_the_stores_password_is_not_shown(self, koala: Cli, redis_server: RedisServer) -> None:
        koala.url = redis_server.url.replace("//", "//default:tell-nobody@")
        with_password = koala("status")
        assert "tell-nobody" not in with_password.out + with_password.err

    def test_looking_changes_nothing(self, koala: Cli, pool: Pool) -> None:
        pool.slot("s1")
        question = pool.ask(pool.sent(pool.running("anna")))
        with unchanged(pool.store):
            for words in (
                ["status"], ["tasks"], ["task", question.task], ["workers"], ["review", "list"],
                ["review", "show", question.id],
            ):  # fmt: skip
                koala.ok(*words)
                koala.ok(*words, "--json")


class TestWorkers:
    def test_slots_are_shown_by_worker_with_what_they_do(self, koala: Cli, pool: Pool) -> None:
        for worker, slot in (("w1", "s1"), ("w1", "s2"), ("w2", "s3"), ("w3", "s4")):
            pool.slot(slot, worker=worker, accepting=int(slot != "s4"))
        attempt = pool.start(pool.submit("anna"), slot="s2")
        switches.turn_on(pool.store, "worker:w2", "ann")
        found = koala.ok("workers", "--json").data
        states = {slot["slot"]: slot["state"] for worker in found for slot in worker["slots"]}
        assert states == {"s1": "idle", "s2": "busy", "s3": "draining", "s4": "starting"}
        (busy,) = (slot for slot in found[0]["slots"] if slot["state"] == "busy")
        assert (busy["task"], busy["resource"], busy["runs"]) == (attempt.task.id, "profile:anna", ["shop@1"])
        shown = koala.ok("workers").out
        assert attempt.task.id in shown
        assert "anna" in shown

    def test_none_is_told_on_standard_error_only(self, koala: Cli) -> None:
        assert koala.ok("workers").err == "no worker is there\n"
        assert koala.ok("workers", "--json").data == []


class TestPause:
    @pytest.mark.parametrize(
        ("words", "switch"),
        [([], "pool"), (["--workflow", "shop"], "workflow:shop"), (["--profile", "anna"], "profile:anna")],
    )
    def test_pause_and_resume_are_opposites(self, koala: Cli, pool: Pool, words: list[str], switch: str) -> None:
        task = pool.submit("anna")
        pool.slot("s1")
        first = koala.ok("pause", *words, "--why", "closed", "--as", "ann", "--json").data
        assert first == {"switch": switch, "on": True, "changed": True}
        on = switches.all_on(pool.store)[switch]
        assert (on.by, on.why) == ("ann", "closed")
        assert pool.hand_over() == []
        assert koala.ok("tasks", "--json").data[0]["why"]["reason"] == "paused"
        assert koala.ok("resume", *words, "--json").data == {"ended": [switch], "left": []}
        assert pool.hand_over() == [task.id]

    def test_the_first_note_stays(self, koala: Cli, store: Store) -> None:
        koala.ok("pause", "--as", "ann")
        with unchanged(store):
            assert koala.ok("pause", "--as", "bob").err == "the pool was already paused by ann\n"

    def test_a_name_that_nobody_knows_is_doubted_and_paused(self, koala: Cli, pool: Pool) -> None:
        pool.slot("s1")
        assert "no live worker runs a workflow 'shopp'" in koala.ok("pause", "--workflow", "shopp").err
        assert "no profile 'annna' has been used yet" in koala.ok("pause", "--profile", "annna").err
        assert koala.ok("pause", "--workflow", "shop").err == "workflow shop is paused\n"

    def test_resume_all_ends_every_pause_but_no_drain(self, koala: Cli, pool: Pool) -> None:
        pool.slot("s1", worker="w1")
        for words in (["pause"], ["pause", "--workflow", "shop"], ["drain", "w1"]):
            koala.ok(*words)
        assert koala.ok("resume", "--all", "--json").data["ended"] == ["pool", "workflow:shop"]
        assert list(switches.all_on(pool.store)) == ["worker:w1"]
        koala.ok("resume", "--worker", "w1")
        assert switches.all_on(pool.store) == {}

    def test_what_is_still_paused_is_told(self, koala: Cli) -> None:
        koala.ok("pause", "--workflow", "shop", "--why", "closed")
        said = koala.ok("resume")
        assert "nothing was paused there" in said.err
        assert "still on: workflow shop is paused" in said.err

    def test_two_targets_or_an_impossible_name_are_refused(self, koala: Cli, store: Store) -> None:
        koala.ok("pause")
        with unchanged(store):
            koala.fails(2, "invalid_arguments", "pause", "--workflow", "shop", "--profile", "anna")
            koala.fails(2, "invalid_arguments", "resume", "--all", "--workflow", "shop")
            koala.fails(2, "invalid_name", "pause", "--profile", "../x")
            koala.fails(2, "invalid_arguments", "pause", "--workflow", "shop", "--as", "x" * 300)


class TestDrain:
    def test_a_drained_worker_takes_nothing_more(self, koala: Cli, pool: Pool) -> None:
        pool.slot("s1", worker="w1")
        task = pool.submit()
        assert "draining w1; nothing runs there" in koala.ok("drain", "w1", "--why", "new kernel").err
        assert pool.hand_over() == []
        assert koala.ok("tasks", "--json").data[0]["why"]["reason"] == "draining"
        koala.ok("resume", "--worker", "w1")
        assert pool.hand_over() == [task.id]

    def test_wait_ends_when_the_last_task_has_left(self, koala: Cli, pool: Pool) -> None:
        for worker, slot in (("w1", "s1"), ("w2", "s2")):
            pool.slot(slot, worker=worker)
        attempt = pool.start(pool.submit(), slot="s1")
        elsewhere = pool.start(pool.submit(), slot="s2")

        def park() -> None:
            until(lambda: "worker:w1" in switches.all_on(pool.store), "the drain")
            assert attempt.step("next")["go"] == "paused"
            attempt.release("parked", {"reason": "drain"})

        thread = threading.Thread(target=park)
        thread.start()
        said = koala.ok("drain", "w1", "--wait", "--json")
        thread.join()
        assert said.data == {"workers": ["w1"], "changed": ["w1"], "busy": []}
        assert pool.task(attempt.task).attempts == 0
        assert pool.status(elsewhere.task) == "running"

    def test_wait_ends_when_the_slots_have_left(self, koala: Cli, pool: Pool) -> None:
        pool.slot("s1", worker="w1")
        pool.start(pool.submit(), slot="s1")

        def leave() -> None:
            until(lambda: "worker:w1" in switches.all_on(pool.store), "the drain")
            slots.leave(pool.store, "s1", CLASS)

        thread = threading.Thread(target=leave)
        thread.start()
        koala.ok("drain", "--all", "--wait")
        thread.join()

    def test_time_that_runs_out_is_told_by_exit_code_6_and_the_drain_goes_on(self, koala: Cli, pool: Pool) -> None:
        pool.slot("s1", worker="w1")
        attempt = pool.start(pool.submit(), slot="s1")
        said = koala("drain", "w1", "--wait", "--timeout", "0.3")
        assert said.code == 6
        assert f"still running: {attempt.task.id}" in said.err
        assert "worker:w1" in switches.all_on(pool.store)

    def test_all_means_every_worker_that_is_there(self, koala: Cli, pool: Pool) -> None:
        for worker, slot in (("w1", "s1"), ("w2", "s2")):
            pool.slot(slot, worker=worker)
        assert koala.ok("drain", "--all", "--json").data["workers"] == ["w1", "w2"]

    def test_no_worker_is_no_fault_for_all(self, koala: Cli) -> None:
        assert koala.ok("drain", "--all").err == "no worker is there\n"

    def test_an_unknown_worker_or_none_named_is_refused(self, koala: Cli, pool: Pool) -> None:
        pool.slot("s1", worker="w1")
        with unchanged(pool.store):
            assert "there: w1" in koala.fails(3, "not_found", "drain", "w9")
            koala.fails(2, "invalid_arguments", "drain")
            koala.fails(2, "invalid_arguments", "drain", "w1", "--all")
            koala.fails(2, "invalid_arguments", "drain", "w1", "--timeout", "5")
