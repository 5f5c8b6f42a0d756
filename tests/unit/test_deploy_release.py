"""Which image comes, which one is there to go back to, and which one nobody needs: by what runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy import deploying, recovery, release
from deploy.containers import SERVICE
from deploy.problem import Problem
from deploy.project import Project
from deploy.release import Release

CONFIG = {"name": "koala", "services": {"worker": {"image": "koala:x", "build": {}}}, "volumes": {}}

DOCKER = """#!/usr/bin/env python3
import json, pathlib, sys
here, args = pathlib.Path(__file__).parent, sys.argv[1:]
told = json.loads((here / "told.json").read_text())
with (here / "asked").open("a") as asked:
    asked.write(" ".join(args) + "\\n")
if "config" in args:
    print("worker " + told["hash"] if "--hash" in args else json.dumps(told["config"]))
elif args[0] == "ps":
    print("\\n".join(one["Id"] for one in told["containers"]))
elif args[:2] == ["image", "ls"]:
    print("\\n".join(told["images"]))
elif args[:2] == ["image", "inspect"]:
    sys.exit(args[2].partition(":")[2] not in told["images"])
elif args[0] == "inspect":
    known = {one["Id"]: one for one in told["containers"]}
    shape = lambda tag, of: {"Id": tag, "RepoTags": [], "RootFS": {"Layers": [of]}}
    tags = {f"koala:{tag}": shape(tag, of) for tag, of in told["images"].items()}
    print(json.dumps([{**tags, **known}[name] for name in args[1:]]))
"""

Machine = Callable[..., Project]


def _worker(number: int, tag: str, state: str = "running") -> dict[str, object]:
    labels = {SERVICE: "worker", "com.docker.compose.config-hash": "h"}
    return {
        "Id": f"c{number}",
        "Name": f"/koala-worker-{number}",
        "Image": tag,
        "State": {"Status": state},
        "Config": {"Image": f"koala:{tag}", "Labels": labels},
    }


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A project on a machine whose engine says what it is told."""

    def made(
        *workers: dict[str, object], images: dict[str, str] | None = None, env: str = "KOALA_TAG=a", hash_: str = "h"
    ) -> Project:
        told = {"config": CONFIG, "containers": workers, "images": images or {"a": "1", "b": "2"}, "hash": hash_}
        (tmp_path / "told.json").write_text(json.dumps(told))
        (tmp_path / ".env").write_text(f"{env}\n")
        program = tmp_path / "docker"
        program.write_text(DOCKER)
        program.chmod(0o755)
        return Project(tmp_path, {"PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin"})

    return made


def _asked(project: Project) -> list[str]:
    return (project.root / "asked").read_text().splitlines()


def test_the_image_to_go_back_to_is_the_recorded_one_while_some_of_it_runs(machine: Machine) -> None:
    assert deploying._old(machine(_worker(1, "a"), _worker(2, "b"), _worker(3, "b")), "") == "a"


def test_the_one_that_runs_counts_where_the_record_says_otherwise(machine: Machine) -> None:
    assert deploying._old(machine(_worker(1, "b"), env="KOALA_TAG=lost"), "") == "b"


NEVER_CAME_UP = {
    **_worker(1, "b"),
    "State": {"Status": "running", "Health": {"Status": "starting"}},
    "RestartCount": 2,
}


def test_from_an_image_that_never_came_up_it_goes_back_to_one_that_did(machine: Machine) -> None:
    project = machine(NEVER_CAME_UP)
    assert recovery.is_hopeless(project)
    assert (deploying._old(project, "c"), deploying._asked(project, "a", "c")) == ("a", "a")
    assert "`make up` again, or `make deploy BACK=1` for koala a" in recovery.advised(project, "look")
    project = machine(NEVER_CAME_UP, env="KOALA_TAG=b")
    assert (deploying._old(project, "c"), deploying._asked(project, "b", "c")) == ("b", "c")
    assert recovery.advised(project, "look").endswith("`make up` again")


def test_one_worker_that_stays_up_has_work_to_lose(machine: Machine) -> None:
    assert not recovery.is_hopeless(machine(NEVER_CAME_UP, _worker(2, "b")))
    assert not recovery.is_hopeless(machine())


def test_an_image_that_is_started_in_place_of_another_leaves_that_as_the_one_before(machine: Machine) -> None:
    assert machine(env="KOALA_TAG=a").went_to("b") == {"KOALA_TAG": "b", "KOALA_TAG_BEFORE": "a"}
    assert machine(env="KOALA_TAG=b").went_to("b") == {"KOALA_TAG": "b"}
    assert machine(env="").went_to("b") == {"KOALA_TAG": "b"}


def test_what_has_the_same_content_as_what_runs_gets_no_tag_of_its_own(machine: Machine) -> None:
    project = machine(_worker(1, "a"), images={"a": "same", "fresh": "same"})
    assert release._known(project, "fresh") == Release("a", "a")
    assert any(line.startswith("rmi") and line.endswith("koala:fresh") for line in _asked(project))


def test_a_roll_out_that_was_stopped_goes_on_with_its_own_tag(machine: Machine) -> None:
    project = machine(_worker(1, "a"), _worker(2, "b"), images={"a": "1", "b": "2", "fresh": "2"})
    assert release._known(project, "fresh") == Release("b", "b")
    assert deploying._new(project, Release("b", "b")) == "b"


def test_nothing_is_to_do_when_all_run_it_with_these_settings(machine: Machine) -> None:
    assert deploying._new(machine(_worker(1, "a")), Release("a", "a")) == ""


def test_changed_settings_are_rolled_out_as_another_tag_of_the_same_image(machine: Machine) -> None:
    project = machine(_worker(1, "a"), hash_="other")
    tag = deploying._new(project, Release("a", "a"))
    assert tag not in ("", "a")
    assert f"tag koala:a koala:{tag}" in _asked(project)


def test_an_image_that_is_not_here_is_not_rolled_out(machine: Machine) -> None:
    with pytest.raises(Problem, match="no image koala:c"):
        release.existing(machine(), "c")


def test_what_nobody_needs_is_removed_and_nothing_else(machine: Machine) -> None:
    """Not what runs, not the way back, and nothing that this pool did not build: it may be another's."""
    tags = ["unneeded", "before", "recorded", "running", "another's"]
    project = machine(
        _worker(1, tags[3]), images=dict.fromkeys(tags, "1"), env=f"KOALA_TAG={tags[2]}\nKOALA_TAG_BEFORE={tags[1]}"
    )
    project.note_built(tags[:4])
    release.tidy(project)
    assert project.built() == tags[1:4]
    assert [line for line in _asked(project) if line.startswith("rmi")] == [f"rmi koala:{tags[0]}"]


def test_a_tag_that_is_made_is_noted_before_it_is_there(machine: Machine) -> None:
    project = machine(_worker(1, "a"))
    assert project.built() == []
    assert [release.again(project, "a")] == project.built()


def test_after_going_back_the_image_before_is_no_longer_the_one_that_runs(machine: Machine) -> None:
    project = machine(env="KOALA_TAG=b\nKOALA_TAG_BEFORE=a")
    project.keep(project.went_back("a"))
    assert (project.recorded, project.before) == ("a", "")


def test_a_roll_out_without_a_pool_is_refused(machine: Machine) -> None:
    with pytest.raises(Problem, match="does not run"):
        deploying.rollout(machine(), "a")
