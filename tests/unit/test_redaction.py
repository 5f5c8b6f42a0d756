"""Secrets that never print, and are removed from every text."""

from __future__ import annotations

import copy
import html
import json
import pickle
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus, urlencode

import pytest

from koala import redaction
from koala.errors import InvalidName, SettingsError
from koala.redaction import STARS, address, know, redact
from koala.secret import Secret, mounted

AWKWARD = 'p@ss/wörd "x"\\ &<1>\t+%'


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No secret of another test's."""
    monkeypatch.setattr(redaction, "_known", set())


class TestSecret:
    """Promise 6."""

    def test_it_prints_as_stars_in_every_way(self) -> None:
        value = Secret("hunter22")
        for text in (
            str(value),
            repr(value),
            f"{value}",
            f"{value:>20}",
            f"{value!r}",
            str([value]),
        ):
            assert STARS in text
            assert "hunter22" not in text

    def test_it_is_not_stored(self) -> None:
        value = Secret("hunter22")
        for store in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
            with pytest.raises(TypeError) as error:
                store(value)
            assert "hunter22" not in str(error.value)
        with pytest.raises(TypeError):
            vars(value)

    def test_its_value_is_there_for_the_one_call_that_needs_it(self) -> None:
        assert Secret("hunter22").reveal() == "hunter22"

    def test_secrets_compare_by_value_only_with_secrets(self) -> None:
        assert Secret("hunter22") == Secret("hunter22")
        assert Secret("hunter22") != "hunter22"
        assert len({Secret("hunter22"), Secret("hunter22")}) == 1

    def test_making_one_removes_its_value_from_texts(self) -> None:
        Secret("hunter22")
        assert redact("say hunter22!") == f"say {STARS}!"


class TestRedact:
    """Promise 6."""

    @pytest.mark.parametrize(
        "form",
        [
            lambda value: value,
            lambda value: quote(value, safe=""),
            quote,
            quote_plus,
            lambda value: quote(value, safe="").replace("%C3%B6", "%c3%b6").replace("%2F", "%2f").lower(),
            lambda value: urlencode({"a": value}),
            json.dumps,
            lambda value: json.dumps(value, ensure_ascii=False),
            lambda value: json.dumps({"a": [value]}),
            repr,
            html.escape,
        ],
    )
    def test_a_value_is_found_in_the_forms_that_texts_give_it(self, form: object) -> None:
        know(AWKWARD)
        text = form(AWKWARD)  # type: ignore[operator]
        cleaned = redact(f"before {text} after")
        assert STARS in cleaned
        assert not any(part in cleaned for part in ("rd", "ss"))

    @pytest.mark.parametrize("before", ["", "u", "us", "ann:", "user:"])
    @pytest.mark.parametrize("after", ["", "x", "\n", "&more=1"])
    @pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
    def test_base64_of_it_is_found_wherever_it_lies_in_a_longer_text(
        self, before: str, after: str, encode: Callable[[bytes], bytes]
    ) -> None:
        """As Basic authentication sends user and password. One character at each end may hold bits of both."""
        know("correct horse?>")
        text = redact(encode(f"{before}correct horse?>{after}".encode()).decode())
        assert STARS in text
        around = len(encode(before.encode())) + len(encode(after.encode()))
        assert len(text.replace(STARS, "").rstrip("=")) <= around + 1

    def test_base64_of_a_short_value_is_left(self) -> None:
        """It has few characters, which other texts hold by chance."""
        know("hunt")
        assert redact(b64encode(b"hunt").decode()) == b64encode(b"hunt").decode()

    def test_the_longer_of_two_goes_first(self) -> None:
        know("hunter")
        know("hunter22")
        assert redact("hunter22 hunter") == f"{STARS} {STARS}"

    def test_values_too_short_to_search_for_are_left(self) -> None:
        know("abc")
        know("")
        assert redact("abc") == "abc"

    def test_a_value_that_is_no_unicode_does_not_break_it(self) -> None:
        know("half\ud800pair")
        assert redact("ok half\ud800pair") == f"ok {STARS}"


class TestAddress:
    def test_user_and_password_are_stars(self) -> None:
        """Promise 6."""
        assert address("redis://koala:p@ss@host:1/0") == f"redis://{STARS}@host:1/0"
        assert address("redis://:pass@host:1/0") == f"redis://{STARS}@host:1/0"

    @pytest.mark.parametrize(
        "url", ["redis://host:1/0", "redis://host/0?x=a@b", "unix:///run/redis.sock?db=0", "unix:///a@b/s?db=0"]
    )
    def test_one_without_them_stays(self, url: str) -> None:
        assert address(url) == url


class TestSecretFrom:
    def test_it_reads_a_mounted_secret(self, tmp_path: Path) -> None:
        (tmp_path / "shop_password").write_text("hunter22")
        (tmp_path / "shop_password").chmod(0o400)
        assert mounted(tmp_path, "shop_password").reveal() == "hunter22"

    def test_its_name_does_not_leave_the_directory(self, tmp_path: Path) -> None:
        for name in ("../other", "/etc/passwd", "a/b", ".hidden", ""):
            with pytest.raises(InvalidName):
                mounted(tmp_path, name)

    def test_without_a_directory_it_says_what_to_set(self) -> None:
        with pytest.raises(SettingsError, match="set KOALA_SECRETS_DIR"):
            mounted(None, "shop_password")
