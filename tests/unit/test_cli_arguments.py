"""How `--arg` and `--args` become arguments."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from koala.cli.arguments import gather
from koala.errors import InvalidArguments
from tests.support.flows import Typed, shop


def typed(*pairs: str, args: str = "") -> Typed:
    model = shop.check_args(gather(shop, list(pairs), args))
    assert isinstance(model, Typed)
    return model


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("text=K-100", "K-100"),
        ("text=123", "123"),
        ("text=00123", "00123"),
        ("text=null", "null"),
        ("text=true", "true"),
        ('text={"a": 1}', '{"a": 1}'),
        ("text=a=b", "a=b"),
        ("text=", ""),
        ("number=5", 5),
        ("price=1.10", Decimal("1.1")),
        ("price=12345678901234567.89", Decimal("12345678901234567.89")),
        ("yes=true", True),
        ("yes=no", False),
        ("many=[1, 2]", [1, 2]),
        ("maybe=null", None),
        ("maybe=word", "word"),
        ("either=7", 7),
        ("either=seven", "seven"),
        ('anything={"a": [1, null]}', {"a": [1, None]}),
        ("anything=NaN", "NaN"),
        ("anything=words are text", "words are text"),
    ],
)
def test_a_value_is_json_where_the_model_takes_that_and_text_otherwise(pair: str, value: Any) -> None:
    assert getattr(typed(pair), pair.partition("=")[0]) == value


def test_a_single_argument_overrides_the_document() -> None:
    model = typed("number=2", args='{"number": 1, "text": "kept"}')
    assert (model.number, model.text) == (2, "kept")


def test_the_document_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "with space.json"
    path.write_text('{"number": 4}', "utf-8")
    assert typed(args=f"@{path}").number == 4


@pytest.mark.parametrize(
    ("pairs", "args", "told"),
    [
        (["number"], "", "no value"),
        (["=5"], "", "no value"),
        (["number=1", "number=2"], "", "given twice"),
        ([], "[1]", "JSON object"),
        ([], "{nope", "not JSON"),
        ([], '{"price": NaN}', "not JSON"),
        ([], "@/no/such/file", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(pairs: list[str], args: str, told: str) -> None:
    with pytest.raises(InvalidArguments, match=told):
        gather(shop, pairs, args)


def test_what_the_model_refuses_is_told_for_the_value_as_it_was_typed() -> None:
    with pytest.raises(InvalidArguments, match=r"number: Input should be a valid integer, got a number with a"):
        typed("number=1.5")
    with pytest.raises(InvalidArguments, match=r"unknown: Extra inputs are not permitted"):
        typed("unknown=1")
