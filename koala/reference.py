"""docs/settings.md, written from the settings themselves.

python -m koala.reference > docs/settings.md
"""

from __future__ import annotations

from pydantic_core import PydanticUndefined

from koala.exits import PERMANENT, Exit
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


def page() -> str:
    """The whole page."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, PydanticUndefined, "") else f"`{field.default}`"
        rows.append(f"| `KOALA_{name.upper()}` | {default} | {' '.join((field.description or '').split())} |")
    codes = [
        f"| {code.value} | {code.name.lower()} | {code.meaning} | {'yes' if code in PERMANENT else ''} |"
        for code in Exit
    ]
    return HEAD + "\n".join(rows) + "\n" + EXITS + "\n".join(codes) + "\n"


if __name__ == "__main__":
    print(page(), end="")
