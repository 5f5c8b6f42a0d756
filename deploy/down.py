"""`down`: drains, then stops everything. Volumes stay."""

from __future__ import annotations

from deploy import interrupt, leave
from deploy.exits import Exit
from deploy.project import Project
from deploy.say import out, say

STAYS = (
    "stops waiting: the workers go on draining, nothing else is stopped; `make down` again goes on, `make resume` "
    "takes it back. Once more: at once"
)


def down(project: Project) -> Exit:
    """Stop the pool; its data stays. Raises Problem, Interrupted."""
    running = [one for one in project.workers if one.up]
    tag = project.tag
    if running:
        with project.pool(tag) as pool, interrupt.meaning(STAYS):
            leave.all_of(project, pool, running)
    say("stops the rest")
    project.compose(tag).run("--profile", "*", "down", "--remove-orphans")
    out(f"stopped. The data is kept: {', '.join(project.services.volumes)}. `make up` starts it again")
    return Exit.OK
