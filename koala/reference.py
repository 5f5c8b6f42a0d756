"""Two pages of the docs, written from what they describe.

python -m koala.reference > docs/settings.md
python -m koala.reference metrics > docs/metrics.md
"""

from __future__ import annotations

import sys

from pydantic_core import PydanticUndefined

from koala import counts, metrics
from koala.exits import INTERRUPTED, INTERRUPTED_MEANS, PERMANENT, Exit
from koala.metrics import Metric, Of
from koala.settings import Settings

HEAD = """# Settings and exit codes

Written by `python -m koala.reference`; a test says when it is stale.

Every setting is a variable `KOALA_…`. Each has a twin `KOALA_…_FILE` that names a file with the value (mode 0400,
no trailing newline); setting both is refused. Durations are seconds. `koala doctor` shows what is in force, secrets as
stars.

| variable | default | what |
| --- | --- | --- |
"""

EXITS = """
## Exit codes

A service manager should not restart a program that ended with a code marked *permanent*: something has to be changed
first.

| code | name | what it means | permanent |
| --- | --- | --- | --- |
"""


METRICS = """# Metrics

Written by `python -m koala.reference metrics`; a test says when it is stale.

A worker and a scheduler answer `/metrics` where `KOALA_METRICS_PORT` says so. Every label takes its values from a
closed list, and every combination is there from the start, at 0. Both also show the usual `process_…` of their own
process: memory, processor time, open files, when it was started. Attempts that were killed are counted too: by the
store, when somebody notices.
"""

SECTIONS = {
    Of.POOL: """
## The whole pool

Shown by the active scheduler alone, read from the store when it is asked. When another takes over, both may be seen
for less than one scrape: aggregate with `max without (instance) (…)`, never with `sum`. These counters do not start
again with a program; take `increase()` of a recorded series without `instance`, so that it also counts over a
take-over. A store that was restored goes back, and its counters with it.
""",
    Of.SCHEDULER: """
## Each scheduler
""",
    Of.WORKER: """
## Each worker
""",
}

KINDS = """
## What died

The values of `kind`:

"""


def metrics_page() -> str:
    """The page of the metrics."""
    sections = [head + TABLE + "".join(map(_row, metrics.of(who))) for who, head in SECTIONS.items()]
    kinds = [f"- `{kind}`: {kind.meaning}\n" for kind in counts.Crash]
    return METRICS + "".join(sections) + KINDS + "".join(kinds)


TABLE = """
| metric | kind | labels | what |
| --- | --- | --- | --- |
"""


def _row(metric: Metric) -> str:
    labels = "; ".join(f"{name}: {', '.join(values) or '…'}" for name, values in metric.labels.items())
    steps = ", ".join(f"{step:g}" for step in metric.buckets)
    text = f"{metric.help} Seconds: {steps}." if steps else metric.help
    return f"| `{metric.name}` | {metric.kind} | {labels} | {text} |\n"


def page() -> str:
    """The page of the settings."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, PydanticUndefined, "") else f"`{field.default}`"
        rows.append(f"| `KOALA_{name.upper()}` | {default} | {' '.join((field.description or '').split())} |")
    codes = [
        f"| {code.value} | {code.name.lower()} | {code.meaning} | {'yes' if code in PERMANENT else ''} |"
        for code in Exit
    ]
    codes.append(f"| {INTERRUPTED} | interrupted | {INTERRUPTED_MEANS} |  |")
    return HEAD + "\n".join(rows) + "\n" + EXITS + "\n".join(codes) + "\n"


if __name__ == "__main__":
    print(metrics_page() if sys.argv[1:] == ["metrics"] else page(), end="")
