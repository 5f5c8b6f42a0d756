"""`koala profile …`: browser identities in the data directory; the worker program does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from koala import names
from koala.cli import options
from koala.cli.program import become, words

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Browser identities: log in, import, list, export, delete."""


Name = Annotated[str, typer.Argument(metavar="NAME", help="The profile's name.", show_default=False)]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A storage state, as JSON.", show_default=False)]


Laptop = Annotated[bool, typer.Option("--laptop", help="Those of `koala run`, instead of the pool's.")]


def _named(name: str) -> str:
    """A profile's name that cannot leave its directory. Raises InvalidName."""
    return names.check("profile", name)


@app.command()
def login(
    name: Name,
    url: Annotated[str, typer.Option(metavar="URL", help="The page to begin with.")] = "",
    laptop: Laptop = False,
) -> None:
    """Open a visible browser on a profile, to log in by hand.

    It holds the profile's lease until you close it.

    Example: koala profile login alice --url https://shop.example/login
    """
    become("profile", "login", _named(name), *words(url=url, laptop=laptop))


@app.command("import")
def import_(name: Name, file: File, laptop: Laptop = False) -> None:
    """Add logins out of a storage state saved elsewhere.

    The profile is made when it is new.

    Example: koala profile import alice alice.json
    """
    become("profile", "import", _named(name), str(file), *words(laptop=laptop))


@app.command("list")
def list_(as_json: options.Json = False, laptop: Laptop = False) -> None:
    """List the profiles: holder, process, closed cleanly or not.

    Example: koala profile list
    """
    become("profile", "list", *words(json=as_json, laptop=laptop))


@app.command()
def export(name: Name, file: File, laptop: Laptop = False) -> None:
    """Save a profile's logins as a storage state.

    Whoever has the file is logged in: keep it secret.

    Example: koala profile export alice alice.json
    """
    become("profile", "export", _named(name), str(file), *words(laptop=laptop))


@app.command()
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, its logins are lost.")] = False,
    laptop: Laptop = False,
) -> None:
    """Delete a profile and its logins.

    Example: koala profile delete alice --yes
    """
    become("profile", "delete", _named(name), *words(yes=yes, laptop=laptop))


@app.command()
def unlock(
    name: Name,
    because: Annotated[
        str, typer.Option(metavar="TEXT", help="How you know that its attempt is gone.", show_default=False)
    ],
    yes: Annotated[bool, typer.Option("--yes", help="End the old browser that keeps it.")] = False,
    laptop: Laptop = False,
) -> None:
    """Free a profile that an old browser still keeps.

    A browser in sight is shown, and ended with --yes. For an attempt elsewhere your word is taken that it is gone:
    a browser that lives after all would act beside the new one.

    Example: koala profile unlock alice --because "host b2 is powered off"
    """
    become("profile", "unlock", _named(name), *words(because=because, yes=yes, laptop=laptop))
