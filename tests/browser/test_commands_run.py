"""`run`: one workflow on this machine, rehearsed or for real, over a ledger that outlives whatever is killed."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from koala.exits import Exit
from tests.support.command import Command, Said
from tests.support.data import data_volume
from tests.support.waiting import until
from worker import processes

pytestmark = pytest.mark.redis

SOURCE = """
import asyncio, os
from pathlib import Path
from pydantic import BaseModel
from koala import ABSENT, Limits, Run, over, seconds, usd, workflow

HERE = Path(__file__).parent

class Args(BaseModel):
    reference: str = "r1"
    price: str = "5"
    breaks: str = ""

def wrote(name):
    with (HERE / name).open("a") as file:
        file.write("x\\n")

@workflow("try.order", args=Args)
async def order(run: Run, args: Args):
    book = HERE / f"book-{args.reference}"
    async def read_price():
        wrote("steps")
        return args.price
    async def place(op):
        wrote(book.name)
        if args.breaks == "parent":
            os.kill(os.getppid(), 9)
            await asyncio.sleep(60)
        return {"order": args.reference}
    async def find(op):
        return {"order": args.reference} if book.exists() else ABSENT
    print("words of the author")
    price = await run.step("read_price", read_price)
    if args.breaks == "here" and not (HERE / "mended").exists():
        raise ValueError("it breaks here")
    if args.breaks == "hangs":
        await run.step("hangs", lambda: asyncio.sleep(60))
    return await run.effect("place", key=args.reference, describe={"price": price}, do=place, confirm=find,
                            review=over(usd("10")), timeout=seconds(20), settle=seconds(0.2))

@workflow("try.cookies", profile="required")
async def cookies(run: Run, args):
    return [cookie["name"] for cookie in await (await run.page()).context.cookies()]

@workflow("try.title", profile="optional")
async def title(run: Run, args):
    page = await run.page()
    await page.goto("data:text/html,<title>a page</title>")
    await run.screenshot("page")
    return await page.title()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my workflows"
    made.mkdir()
    (made / "trying.py").write_text(SOURCE)
    return made


@pytest.fixture
def run(folder: Path) -> Iterator[Run]:
    with data_volume() as where:
        yield Run(folder, Command({"XDG_STATE_HOME": str(where.path)}))


class Run:
    """`run` of the workflow `order` in a file."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder = folder
        self.command = command

    def words(self, *words: str, name: str = "order", **args: str) -> list[str]:
        given = [f"--arg={key}={value}" for key, value in args.items()]
        return ["run", f"{self.folder / 'trying.py'}:{name}", *given, *words]

    def __call__(self, *words: str, name: str = "order", variables: dict[str, str] | None = None, **args: str) -> Said:
        return self.command(*self.words("--json", *words, name=name, **args), **(variables or {}))

    def lines(self, name: str) -> int:
        path = self.folder / name
        return len(path.read_text().splitlines()) if path.exists() else 0

    def started(self, *words: str, terminal: bool = True, **args: str) -> Any:
        return self.command.started(*self.words(*words, **args), terminal=terminal)


class TestRehearsal:
    def test_it_shows_what_would_be_done_and_what_confirm_sees_and_does_nothing(self, run: Run) -> None:
        said = run()
        assert said.code == 0, said.err
        (shown,) = said.data["rehearsed"]
        assert (said.data["status"], shown["description"], shown["confirm"]) == ("rehearsed", {"price": "5"}, "absent")
        assert (run.lines("steps"), run.lines("book-r1")) == (1, 0)
        assert "words of the author" in said.err

    def test_the_next_one_begins_anew(self, run: Run) -> None:
        run()
        run()
        assert run.lines("steps") == 2

    def test_an_approval_is_mentioned_and_not_asked(self, run: Run) -> None:
        said = run(price="50")
        assert (said.code, said.data["rehearsed"][0]["approval"]) == (0, True)

    def test_it_works_without_redis_and_acting_does_not(self, run: Run) -> None:
        nothing = {"PATH": "/nonexistent"}
        said = run(variables=nothing)
        assert (said.code, said.data["status"]) == (0, "rehearsed"), said.err
        refused = run("--act", variables=nothing)
        assert (refused.code, "apt-get install redis-server" in refused.err) == (Exit.REFUSED, True)
        assert run.lines("book-r1") == 0


class TestActing:
    def test_an_effect_happens_once_however_often_it_is_run(self, run: Run) -> None:
        """Promise 3."""
        first, second = run("--act"), run("--act")
        assert first.data["result"] == second.data["result"] == {"order": "r1"}
        assert run.lines("book-r1") == 1

    def test_killed_in_the_act_the_next_run_looks_first(self, run: Run) -> None:
        """Promise 3."""
        with run.started("--act", breaks="parent") as killed:
            assert killed.wait() == -signal.SIGKILL, killed.said
        assert run.lines("book-r1") == 1
        said = run("--act", breaks="parent")
        assert (said.code, said.data["result"]) == (0, {"order": "r1"}), said.err
        assert "going on with an earlier run" in said.err
        assert (run.lines("book-r1"), run.lines("steps")) == (1, 1)

    def test_killed_it_leaves_nothing_running(self, run: Run) -> None:
        """Promise 9."""
        with run.started("--act", breaks="hangs") as running:
            running.hear("step hangs begins")
            below = running.tree()[1:]
            assert len(below) >= 2
            running.popen.kill()
            running.wait()
            until(lambda: not any(map(processes.is_alive, below)), "all below it are gone")

    def test_a_second_one_at_the_same_time_is_refused(self, run: Run) -> None:
        with run.started(breaks="hangs") as running:
            running.hear("step hangs begins")
            said = run()
            assert (said.code, "another `koala run`" in said.err) == (Exit.REFUSED, True)


class TestQuestions:
    def test_it_is_asked_on_the_terminal_and_goes_on_with_the_answer(self, run: Run) -> None:
        with run.started("--act", price="50") as running:
            running.hear("Answer one of: approve, reject, look again")
            assert run.lines("book-r1") == 0
            running.type("app")
            assert running.wait() == 0, running.said
        assert run.lines("book-r1") == 1

    def test_rejected_it_ends(self, run: Run) -> None:
        with run.started("--act", price="50") as running:
            running.hear("Answer one of")
            running.type("nonsense")
            running.hear("none of")
            running.type("reject")
            assert running.wait() == Exit.TASK_FAILED
        assert run.lines("book-r1") == 0

    def test_with_nobody_there_it_stays_open_for_the_next_run(self, run: Run) -> None:
        said = run("--act", price="50")
        assert (said.code, said.data["status"]) == (Exit.WAITING, "review")
        assert said.data["question"]
        with run.started("--act", price="50") as running:
            running.hear("Answer one of")
            running.type("approve")
            assert running.wait() == 0, running.said
        assert (run.lines("book-r1"), run.lines("steps")) == (1, 1)


class TestFailing:
    def test_a_failure_shows_where_and_the_next_run_begins_anew(self, run: Run) -> None:
        said = run(breaks="here")
        assert (said.code, said.data["status"]) == (Exit.TASK_FAILED, "failed")
        assert said.data["error"] == "ValueError: it breaks here"
        assert "trying.py" in said.err
        assert "Traceback" in said.err
        (run.folder / "mended").touch()
        assert run(breaks="here").code == 0
        assert run.lines("steps") == 2

    def test_with_keep_it_goes_on_from_its_checkpoints(self, run: Run) -> None:
        assert run("--keep", breaks="here").code == Exit.TASK_FAILED
        (run.folder / "mended").touch()
        assert run("--keep", breaks="here").code == 0
        assert run.lines("steps") == 1

    def test_ctrl_c_ends_it_and_all_below_it(self, run: Run) -> None:
        with run.started(breaks="hangs") as running:
            running.hear("step hangs begins")
            below = running.tree()
            running.popen.send_signal(signal.SIGINT)
            assert running.wait() == 130, running.said
        assert not any(processes.is_alive(process) for process in below)
        (run.folder / "mended").touch()
        assert run().code == 0

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["run", "nowhere.py:order"], Exit.USAGE),
            (["run", "no.such.module:order"], Exit.WORKFLOWS),
            (["run", "no.such.workflow"], Exit.NOT_FOUND),
        ],
    )
    def test_what_is_not_there_is_refused(self, run: Run, words: list[str], code: Exit) -> None:
        said = run.command(*words)
        assert (said.code, said.out) == (code, "")

    def test_arguments_that_do_not_fit_are_refused_before_anything_is_started(self, run: Run) -> None:
        assert run("--args=[1]").code == Exit.USAGE
        assert run(name="nothing").code == Exit.NOT_FOUND


class TestBrowser:
    def test_a_workflow_has_a_page_and_its_artifacts_are_named(self, run: Run) -> None:
        said = run(name="title")
        assert (said.code, said.data["result"]) == (0, "a page"), said.err
        (picture,) = said.data["artifacts"]
        assert Path(picture).stat().st_size > 100

    def test_a_profile_of_its_own_is_logged_in_beforehand(self, run: Run) -> None:
        cookie = {"name": "session", "value": "one", "domain": "shop.example", "path": "/", "expires": -1}
        state = run.folder / "state.json"
        state.write_text(json.dumps({"cookies": [cookie], "origins": []}))
        assert run.command("profile", "import", "me", str(state), "--laptop").code == 0
        assert [row["name"] for row in run.command("profile", "list", "--json", "--laptop").data] == ["me"]
        assert run("--profile=me", name="cookies").data["result"] == ["session"]

    def test_a_profile_is_its_own_and_stays(self, run: Run) -> None:
        for _ in range(2):
            said = run("--profile=me", name="title")
            assert (said.code, said.data["profile"]) == (0, "me"), said.err
