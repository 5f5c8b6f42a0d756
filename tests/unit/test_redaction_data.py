"""Secrets in data and in names."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from koala import ledger, redaction
from koala.redaction import STARS, know, scrub, veil
from koala.values import to_json


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two secrets, one of them a number, and none of another test's."""
    monkeypatch.setattr(redaction, "_known", set())
    know('hunter "22"')
    know("4711")


def test_texts_and_keys_at_any_depth_lose_their_secrets() -> None:
    """Lists, tuples and dicts."""
    given = {"a": ['x hunter "22"', ("4711",)], 'hunter "22"': None}
    assert scrub(given) == {"a": [f"x {STARS}", [STARS]], STARS: None}


def test_a_number_is_a_secret_only_as_a_whole() -> None:
    """A PIN given as a number; numbers that only hold its digits, true and false stay what they are."""
    assert scrub([4711, 47110, 1.5, True, None]) == [STARS, 47110, 1.5, True, None]


def test_what_is_no_json_is_left_for_the_encoder_to_refuse() -> None:
    """Nothing is made presentable by the way."""
    with pytest.raises(TypeError):
        to_json({"a": {1, 2}}, "it")


def test_json_made_of_values_with_secrets_stays_json() -> None:
    """Also where the secret's digits are inside a number."""
    text = to_json({"order": 147119, "pin": 4711, "said": 'hunter "22"'}, "it")
    assert json.loads(text) == {"order": 147119, "pin": STARS, "said": STARS}


def test_a_description_keeps_its_numbers_and_loses_its_secrets() -> None:
    """So that the same description is the same, wherever it is made."""
    text = ledger.canonical({"price": Decimal("4711.50"), "who": 'hunter "22"'})
    assert json.loads(text) == {"price": 4711.5, "who": STARS}


def test_names_without_secrets_are_left_alone_and_others_stay_apart() -> None:
    """Two keys that differ in their secret are two effects."""
    assert veil("cart-17") == "cart-17"
    one, other = veil('cart hunter "22"'), veil("cart 4711")
    assert one.startswith(f"cart {STARS}~")
    assert one != other
    assert one == veil('cart hunter "22"')
