"""A task's arguments as they are typed on a command line."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from koala.errors import InvalidArguments
from koala.reading import text_from, text_of
from koala.workflow import Workflow

MOST = 8 * 1024 * 1024
"""Bytes of `--args`, far more than a task may have; the settings say how many it may."""


def gather(chosen: Workflow, pairs: list[str], text: str) -> dict[str, Any]:
    """The arguments of `--args` overridden by each `--arg k=v`, typed by the workflow's model.

    A value is taken as JSON where the model accepts that, otherwise as text. Raises InvalidArguments for what
    cannot be read; what the model refuses is left for the check that follows.
    """
    base = _document(text) if text else {}
    raw = _pairs(pairs)
    typed = {name: _value(value) for name, value in raw.items()}
    refused = _refused(chosen, {**base, **typed}) & raw.keys()
    as_text = {**typed, **{name: raw[name] for name in refused}}
    still = _refused(chosen, {**base, **as_text})
    return {**base, **{name: typed[name] if name in still else as_text[name] for name in raw}}


def _pairs(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidArguments(f"--arg {name!r} has no value: write it as name=value")
        if name in found:
            raise InvalidArguments(f"--arg {name} is given twice: a list is written as JSON, {name}='[1, 2]'")
        found[name] = value
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_exact, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _exact(text: str) -> float:
    """A float that says the same as its text. Raises ValueError where it would round: then the text stays."""
    number = float(text)
    if Decimal(repr(number)) != Decimal(text):
        raise ValueError(text)
    return number


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _refused(chosen: Workflow, given: dict[str, Any]) -> set[str]:
    """The arguments that the model does not take as they are."""
    try:
        chosen.args.model_validate(given)
    except ValidationError as error:
        return {str(item["loc"][0]) for item in error.errors(include_url=False) if item["loc"]}
    return set()


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(_source(text), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"--args is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidArguments('--args has to be a JSON object, like {"sku": "K-100"}')
    return document


def _source(text: str) -> str:
    try:
        if text == "-":
            return text_from(sys.stdin.buffer, "standard input", MOST)
        return text_of(Path(text[1:]), MOST) if text.startswith("@") else text
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArguments(f"--args cannot be read: {error}") from None
