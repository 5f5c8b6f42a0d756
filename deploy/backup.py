"""`backup`: the store, then the profiles, while the pool runs; one directory with a manifest.

The store first: a profile that is newer than the records of it does no harm, one that is older may lack a login that a
task's checkpoints count on.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from deploy import archive, interrupt, pour
from deploy.archive import FORMAT, PROFILES, STORE
from deploy.compose import Compose
from deploy.exits import Exit
from deploy.pour import Sum
from deploy.problem import Problem
from deploy.project import Project
from deploy.say import out, say

FOLDER = "backups"
IN_OPERATOR = ("run", "--rm", "--no-deps", "--no-TTY", "operator", "python", "-m", "worker")
"""A command of the worker program with the operator's rights, on the data volume."""


def backup(project: Project, to: str) -> Exit:
    """Make one below `to` (default: `backups/`) and print its directory. Raises Problem, Interrupted."""
    compose = project.compose(project.tag)
    if not any(one.up for one in project.containers("redis")):
        raise Problem("the store does not run: there is nothing to ask", "`make up` first", Exit.STORE_AWAY)
    folder = Path(project.root, to or FOLDER)
    name = f"koala-{time.strftime('%Y-%m-%dT%H-%M-%SZ', time.gmtime())}"
    with archive.new(folder, name) as part:
        say("the store")
        facts, store = _store(compose, part)
        interrupt.check()
        say("the profiles")
        wait = ("--wait", f"{project.settings.backup_wait_s:g}")
        profiles = pour.out(compose, part / PROFILES, *IN_OPERATOR, "backup", "profiles", *wait)
        archive.write_manifest(part, _manifest(project, facts, store, profiles, archive.listed(part / PROFILES)))
    return _tell(archive.read(folder / name))


def _store(compose: Compose, part: Path) -> tuple[dict[str, Any], Sum]:
    """Have Redis write its snapshot and fetch it; nothing of it stays there."""
    facts: dict[str, Any] = json.loads(compose.run(*IN_OPERATOR, "backup", "store"))
    there = str(facts.pop("file"))
    store = pour.out(compose, part / STORE, "exec", "-T", "redis", "cat", there)
    compose.tried("exec", "-T", "redis", "rm", "-f", there)
    with (part / STORE).open("rb") as file:
        if file.read(5) != b"REDIS":
            raise Problem(f"{there} in the store's container is no snapshot", "`make logs SERVICE=redis` says more")
    return facts, store


def _manifest(
    project: Project, facts: dict[str, Any], store: Sum, profiles: Sum, each: list[dict[str, Any]]
) -> dict[str, Any]:
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts["at_ms"] / 1000))
    return {
        "format": FORMAT,
        "made": made,
        "project": project.services.project,
        "image": project.tag,
        "epoch": facts["epoch"],
        "schema": facts["schema"],
        "store": {"sha256": store.sha256, "bytes": store.bytes, **facts},
        "profiles": {"sha256": profiles.sha256, "bytes": profiles.bytes, "each": each},
    }


def _tell(made: archive.Archive) -> Exit:
    size = sum(made.manifest[part]["bytes"] for part in ("store", "profiles"))
    if made.missing:
        say(f"NOT in it, for they were in use and have no snapshot: {', '.join(made.missing)}")
    say(f"{size // 1024} KiB. It holds the profiles' logins: keep it as safe as a password. Secrets are not in it")
    out(str(made.path))
    return Exit.OK
