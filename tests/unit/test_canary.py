"""The canary as people meet it: what may be submitted, and which names are kept from others."""

from __future__ import annotations

from types import ModuleType

import pytest

from koala import Run, canary, workflow
from koala.client import prepare
from koala.errors import InvalidArguments, WorkflowsError
from koala.workflow import NoArgs, Registry, load


@workflow("shop.order", profile="optional")
async def order(run: Run, args: NoArgs) -> None:
    """Another workflow."""


def test_it_takes_only_profiles_that_may_be_thrown_away() -> None:
    known = canary.known()
    assert prepare(known, canary.NAME, {}, profile="canary-1").profile == "canary-1"
    with pytest.raises(InvalidArguments, match="canary-"):
        prepare(known, canary.NAME, {}, profile="alice")
    with pytest.raises(InvalidArguments, match="needs a profile"):
        prepare(known, canary.NAME, {})


def test_nobody_else_gets_a_profile_that_is_thrown_away() -> None:
    with pytest.raises(InvalidArguments, match="another name"):
        prepare(Registry([order]), order, {}, profile="canary-1")
    assert prepare(Registry([order]), order, {}, profile="alice").profile == "alice"


def test_no_other_class_of_work_can_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a module that imports it, nor one that takes its name."""
    module = ModuleType("an_authors")
    monkeypatch.setitem(__import__("sys").modules, "an_authors", module)
    module.order, module.canary = order, canary.canary  # type: ignore[attr-defined]
    for name in ("an_authors", "koala.canary"):
        with pytest.raises(WorkflowsError, match="Koala's own"):
            load([name])
