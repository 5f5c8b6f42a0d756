"""The small words: names, fences, amounts, and the one text of a description."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from koala import ledger, names, over, usd
from koala.errors import InvalidName
from koala.fence import Fence
from koala.ledger import canonical


class TestNames:
    @pytest.mark.parametrize("name", ["a", "Anna", "shop.order", "anna@shop.example", "a-b_c.d", "0", "x" * 64])
    def test_an_ordinary_name_is_returned(self, name: str) -> None:
        assert names.check("profile", name) == name

    @pytest.mark.parametrize(
        "name",
        ["", ".", "..", ".a", "a..b", "-a", "a/b", "../a", "a\\b", "a b", "a\n", "a|b", "ä", "a\0", "x" * 65],
    )
    def test_one_that_could_leave_its_directory_or_key_is_refused(self, name: str) -> None:
        with pytest.raises(InvalidName, match=r"profile name .* is not allowed: use 1 to 64"):
            names.check("profile", name)


class TestFence:
    def test_it_is_written_and_read_as_epoch_and_counter(self) -> None:
        assert str(Fence.parse("1795971327766.12")) == "1795971327766.12"

    def test_it_is_compared_by_number_epoch_first(self) -> None:
        """V7."""
        order = ["1.2", "1.10", "2.1", "10.1"]
        assert sorted(["10.1", "2.1", "1.10", "1.2"], key=Fence.parse) == order

    @pytest.mark.parametrize("text", ["", "1", "1.", ".1", "1.2.3", "a.b", "-1.2", "1_0.2", " 1.2", "1.2\n", "١.٢"])  # noqa: RUF001
    def test_anything_else_is_no_fence(self, text: str) -> None:
        with pytest.raises(ValueError, match="not a fence"):
            Fence.parse(text)


class TestAmounts:
    def test_an_amount_is_exact(self) -> None:
        assert usd("0.10") + usd("0.20") == usd("0.30")

    def test_a_float_is_refused(self) -> None:
        with pytest.raises(TypeError, match=r'write usd\("0.1"\)'):
            usd(0.1)  # type: ignore[arg-type]

    @pytest.mark.parametrize("text", ["", "ten", "NaN", "Infinity"])
    def test_what_is_no_amount_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="not an amount"):
            usd(text)

    @pytest.mark.parametrize("price", [20.01, "20.01", Decimal("20.01"), 21, "1e3", float("inf")])
    def test_a_person_is_asked_above_it(self, price: Any) -> None:
        assert over(usd("20"))({"price": price})

    @pytest.mark.parametrize("price", [20, "20", 20.0, "20.00", Decimal("19.99"), 0])
    def test_nobody_is_asked_up_to_it(self, price: Any) -> None:
        assert not over(usd("20"))({"price": price})

    @pytest.mark.parametrize("described", [None, {}, [], "20", {"price": None}, {"price": "$20"}, {"price": "NaN"}])
    def test_what_cannot_be_compared_is_asked(self, described: Any) -> None:
        assert over(usd("20"))(described)

    def test_it_may_look_at_another_field(self) -> None:
        assert over(usd("5"), of="total")({"total": 6, "price": 1})


class Item(BaseModel):
    sku: str
    price: Decimal


class Nameless:
    pass


class TestCanonical:
    """An approval is for exactly what was described: one description has one text."""

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (40, 40.0),
            (40, Decimal("40.00")),
            (Decimal("1.50"), 1.5),
            (Decimal("1E+2"), 100),
            (0, -0.0),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
            ({"a": {"c": 1, "d": [1.0]}}, {"a": {"d": [1], "c": 1}}),
            ("café", unicodedata.normalize("NFD", "café")),
            ({"café": 1}, {unicodedata.normalize("NFD", "café"): 1}),
            ((1, 2), [1, 2]),
            ({1: "a"}, {"1": "a"}),
            (Item(sku="a", price=Decimal("40.0")), {"price": 40, "sku": "a"}),
        ],
    )
    def test_what_means_the_same_has_the_same_text(self, one: Any, other: Any) -> None:
        assert canonical(one) == canonical(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (40, "40"),
            (1, True),
            (0, False),
            (None, "null"),
            (19, 19.01),
            (Decimal("10000000000000000.01"), Decimal("10000000000000000.02")),
            (Decimal("1." + "0" * 40 + "1"), 1),
            ([1, 2], [2, 1]),
            ({"a": 1}, {"A": 1}),
            ("a", "a "),
            ([], {}),
        ],
    )
    def test_what_differs_has_another_text(self, one: Any, other: Any) -> None:
        """V25: an approval must not slip to something else."""
        assert canonical(one) != canonical(other)

    def test_it_is_json_that_a_reviewer_can_be_shown(self) -> None:
        described = {"sku": "a", "price": Decimal("19.90"), "n": 2, "gift": True, "note": None, "é": ["x"]}
        assert json.loads(canonical(described)) == {**described, "price": 19.9}

    def test_times_are_kept_as_text(self) -> None:
        at = datetime(2031, 5, 4, 9, 0, tzinfo=UTC)
        assert json.loads(canonical([date(2031, 5, 4), at])) == ["2031-05-04", "2031-05-04 09:00:00+00:00"]

    @pytest.mark.parametrize("described", [Nameless(), {"a": Nameless()}, {1, 2}, float("nan"), {1: 1, "1": 2}])
    def test_what_has_no_text_of_its_own_is_refused(self, described: Any) -> None:
        """Its text would differ at each attempt, and a person would be asked for ever."""
        with pytest.raises(TypeError):
            canonical(described)

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=8,
        )
    )
    def test_it_is_always_json_and_stays_itself(self, described: Any) -> None:
        try:
            text = canonical(described)
        except TypeError:
            return  # two keys became one in NFC
        assert canonical(json.loads(text, parse_float=Decimal)) == text

    def test_the_digest_is_of_operation_and_description(self) -> None:
        digests = {ledger.digest(operation, text) for operation in ("a", "b") for text in ("1", "2")}
        assert len(digests) == 4
        assert all(len(digest) == 32 for digest in digests)
