"""Workflows: what can be declared, what a program knows, and what is checked before a task is accepted."""

from __future__ import annotations

import itertools
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from koala import Limits, Run, Workflow, minutes, workflow
from koala.client import prepare
from koala.errors import InvalidArguments, InvalidName, UnknownWorkflow, WorkflowsError
from koala.workflow import Registry, load

NUMBERS = itertools.count()


class Args(BaseModel):
    sku: str
    count: int = 1
    code: SecretStr | None = None


def declared(name: str = "shop.order", version: int = 1, **more: Any) -> Workflow:
    @workflow(name, version=version, **more)
    async def run(run: Run, args: Any) -> None:
        """Does nothing."""

    return run


class TestDeclaring:
    def test_it_needs_an_async_function(self) -> None:
        for function in (lambda run, args: None, self.generates):
            with pytest.raises(WorkflowsError, match="must be an `async def`"):
                workflow("shop")(function)  # type: ignore[arg-type]

    async def generates(self, run: Run, args: Any) -> Any:
        yield

    @pytest.mark.parametrize(
        ("given", "text"),
        [
            ({"version": 0}, "versions begin with 1"),
            ({"profile": "always"}, "use required, optional or none"),
            ({"version": 2, "accepts": [2]}, "only older ones"),
            ({"version": 2, "accepts": [3]}, "only older ones"),
            ({"version": 2, "accepts": [0]}, "only older ones"),
            ({"args": dict}, "use a pydantic model"),
        ],
    )
    def test_what_cannot_be_declared_says_why(self, given: dict[str, Any], text: str) -> None:
        with pytest.raises(WorkflowsError, match=text):
            declared(**given)

    @pytest.mark.parametrize("name", ["", "a/b", "a b", "../x", "a|b"])
    def test_its_name_is_a_name(self, name: str) -> None:
        with pytest.raises(InvalidName):
            declared(name)

    @pytest.mark.parametrize("given", [{"runtime": timedelta(0)}, {"runtime": minutes(-1)}, {"attempts": 0}])
    def test_limits_leave_something_to_run(self, given: dict[str, Any]) -> None:
        with pytest.raises(WorkflowsError, match="limits need"):
            Limits(**given)


class TestRegistry:
    def test_two_workflows_of_one_name_and_version_are_refused(self) -> None:
        with pytest.raises(WorkflowsError, match=r"two workflows are named shop.order version 1 .*rename one"):
            Registry([declared(), declared()])

    def test_the_same_one_seen_twice_is_one(self) -> None:
        same = declared()
        assert list(Registry([same, same])) == [same]

    def test_two_versions_live_side_by_side(self) -> None:
        one, two = declared(version=1), declared(version=2)
        known = Registry([two, one])
        assert (known.newest("shop.order"), known.for_task("shop.order", 1)) == (two, one)

    def test_a_task_runs_on_its_version_or_on_one_that_accepts_it(self) -> None:
        two, four = declared(version=2, accepts=[1]), declared(version=4, accepts=[1, 2])
        known = Registry([two, four])
        found = {version: known.for_task("shop.order", version) for version in (1, 2, 3, 4)}
        assert found == {1: four, 2: two, 3: None, 4: four}
        assert known.for_task("other", 1) is None
        assert known.runs == ["shop.order@1", "shop.order@2", "shop.order@4"]

    def test_an_unknown_workflow_says_which_there_are(self) -> None:
        with pytest.raises(UnknownWorkflow, match=r"'shop.oder' here \(known: shop.order\)"):
            Registry([declared()]).newest("shop.oder")
        with pytest.raises(UnknownWorkflow, match="known: none"):
            Registry().newest("x")

    def test_a_class_of_work_is_what_can_be_run(self) -> None:
        one, two = declared(), declared("news")
        assert Registry([one, two]).work_class == Registry([two, one]).work_class
        assert Registry([one]).work_class != Registry([one, two]).work_class
        assert Registry([declared(version=2, accepts=[1])]).work_class != Registry([declared(version=2)]).work_class


class TestLoad:
    def module(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **files: str) -> str:
        """A package of these files; a name of its own each time."""
        name = f"flows_{next(NUMBERS)}"
        (tmp_path / name).mkdir()
        for file, text in {"__init__": "", **files}.items():
            (tmp_path / name / f"{file}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return name

    FLOW = "from koala import workflow\n@workflow('{name}')\nasync def {name}(run, args): ...\n"

    def test_a_package_is_read_with_all_below_it(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        name = self.module(
            monkeypatch,
            tmp_path,
            a=self.FLOW.format(name="one"),
            b=self.FLOW.format(name="two"),
            test_c="raise RuntimeError",
        )
        assert load([name]).runs == ["one@1", "two@1"]
        assert f"{name}.test_c" not in sys.modules

    def test_one_imported_by_another_is_one(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        name = self.module(monkeypatch, tmp_path, a=self.FLOW.format(name="one"))
        (tmp_path / name / "b.py").write_text(f"from {name}.a import one")
        assert load([name]).runs == ["one@1"]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("import nothing_like_this", "ModuleNotFoundError: No module named 'nothing_like_this'"),
            ("1/0", "ZeroDivisionError"),
            ("def", "SyntaxError"),
        ],
    )
    def test_a_module_that_does_not_load_says_why(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, says: str
    ) -> None:
        name = self.module(monkeypatch, tmp_path, a=text)
        with pytest.raises(WorkflowsError, match=f"{name!r} cannot be loaded: {says}"):
            load([name])

    def test_one_that_is_not_there_or_empty_is_refused(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        with pytest.raises(WorkflowsError, match="'nothing_like_this' cannot be loaded"):
            load(["nothing_like_this"])
        with pytest.raises(WorkflowsError, match="no workflow was found: set KOALA_WORKFLOWS"):
            load([self.module(monkeypatch, tmp_path)])

    def test_a_workflow_declared_wrongly_says_so_itself(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        name = self.module(monkeypatch, tmp_path, a="from koala import workflow\n@workflow('x')\ndef x(run, args): ...")
        with pytest.raises(WorkflowsError, match=r"^workflow x must be an `async def` function"):
            load([name])


class TestPrepare:
    KNOWN = Registry(
        [
            declared(version=3, args=Args, profile="required", limits=Limits(attempts=5)),
            declared("news"),
            declared("either", profile="optional"),
        ]
    )

    def test_a_submission_holds_what_was_checked(self) -> None:
        given = prepare(self.KNOWN, "shop.order", {"sku": "a", "count": "2"}, profile="anna", key="cart-1", priority=3)
        assert (given.workflow, given.version, given.profile) == ("shop.order", 3, "anna")
        assert given.args == {"sku": "a", "count": 2, "code": None}
        assert (given.dedupe, given.priority, given.max_attempts) == ("cart-1", 3, 5)
        assert (given.due_ms, given.deadline_ms) == (0, 0)

    def test_arguments_that_do_not_fit_are_named_without_their_values(self) -> None:
        with pytest.raises(InvalidArguments, match=r"sku: Field required; count: ") as error:
            prepare(self.KNOWN, "shop.order", {"count": "hunter22"}, profile="anna")
        assert "hunter22" not in str(error.value)

    def test_a_workflow_without_arguments_takes_none(self) -> None:
        with pytest.raises(InvalidArguments, match="extra"):
            prepare(self.KNOWN, "news", {"extra": 1})

    def test_a_profile_is_required_refused_or_free(self) -> None:
        with pytest.raises(InvalidArguments, match="needs a profile"):
            prepare(self.KNOWN, "shop.order", {"sku": "a"})
        with pytest.raises(InvalidArguments, match="takes no profile"):
            prepare(self.KNOWN, "news", {}, profile="anna")
        assert prepare(self.KNOWN, "either", {}).profile == ""
        assert prepare(self.KNOWN, "either", {}, profile="anna").profile == "anna"

    def test_a_profile_that_could_leave_its_directory_is_refused(self) -> None:
        with pytest.raises(InvalidName):
            prepare(self.KNOWN, "either", {}, profile="../anna")

    def test_an_unknown_workflow_is_refused(self) -> None:
        with pytest.raises(UnknownWorkflow):
            prepare(self.KNOWN, "shop.oder", {})

    def test_times_become_ms_and_need_a_zone(self) -> None:
        at = datetime(2031, 5, 4, 9, 0, tzinfo=UTC)
        given = prepare(self.KNOWN, "news", {}, at=at, deadline=at + timedelta(hours=1))
        assert given.deadline_ms - given.due_ms == 3_600_000
        for times in ({"at": datetime(2031, 5, 4)}, {"deadline": datetime(2031, 5, 4)}):  # noqa: DTZ001
            with pytest.raises(InvalidArguments, match=f"`{next(iter(times))}` has no time zone"):
                prepare(self.KNOWN, "news", {}, **times)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "times",
        [
            {"deadline": datetime(2001, 1, 1, tzinfo=UTC)},
            {"deadline": timedelta(seconds=-1)},
            {"deadline": timedelta(hours=1), "at": datetime(2031, 5, 4, tzinfo=UTC)},
        ],
        ids=["past", "negative", "before-its-start"],
    )
    def test_a_deadline_that_leaves_no_time_is_refused(self, times: dict[str, Any]) -> None:
        with pytest.raises(InvalidArguments, match="not after its start"):
            prepare(self.KNOWN, "news", {}, **times)

    def test_a_deadline_may_be_a_span_from_now(self) -> None:
        given = prepare(self.KNOWN, "news", {}, deadline=timedelta(hours=1))
        assert abs(given.deadline_ms / 1000 - datetime.now(UTC).timestamp() - 3600) < 60
