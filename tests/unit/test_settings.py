"""Settings: variables, their file twins, the secrets directory, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from koala import redaction, settings
from koala.errors import SettingsError
from koala.exits import PERMANENT
from koala.secret import read
from koala.settings import load


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine's, and no secret of another test's."""
    for name in list(os.environ):
        if name.startswith("KOALA_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(redaction, "_known", set())


def secret(path: Path, value: str | bytes = "hunter22", mode: int = 0o400) -> Path:
    path.write_bytes(value if isinstance(value, bytes) else value.encode())
    path.chmod(mode)
    return path


class TestVariables:
    def test_without_any_the_defaults_hold(self) -> None:
        found = load()
        assert (found.slots, found.lease_ttl_s, found.password, found.modules) == (2, 15.0, None, ["workflows"])
        assert found.renew_s <= found.lease_ttl_s / 3

    def test_a_variable_sets_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KOALA_SLOTS", "5")
        monkeypatch.setenv("KOALA_WORKFLOWS", "shop, news  extra")
        assert (load().slots, load().modules) == (5, ["shop", "news", "extra"])

    def test_what_is_given_in_the_program_is_stronger(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KOALA_SLOTS", "5")
        assert load(slots=7).slots == 7

    def test_variables_of_other_programs_are_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KOALA_SOMETHING_NEWER", "x")
        load()

    def test_a_directory_is_the_same_one_wherever_a_program_goes(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("KOALA_DATA", "rel")
        assert load().data == tmp_path / "rel"

    def test_they_cannot_be_changed_afterwards(self) -> None:
        with pytest.raises(Exception, match="frozen"):
            load().slots = 3  # type: ignore[misc]


class TestRefused:
    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("KOALA_SLOTS", "0"),
            ("KOALA_SLOTS", "65"),
            ("KOALA_SLOTS", "two"),
            ("KOALA_LEASE_TTL_S", "1"),
            ("KOALA_TRUST_MARGIN_S", "0.1"),
            ("KOALA_LOG_FORMAT", "xml"),
            ("KOALA_LOG_LEVEL", "loud"),
            ("KOALA_PAYLOAD_BYTES", "-1"),
            ("KOALA_TICK_S", "0"),
            ("KOALA_BROWSER_SANDBOX", "perhaps"),
            ("KOALA_REDIS_URL", "redis://127.0.0.1:notaport/0"),
            ("KOALA_REDIS_URL", "redis://127.0.0.1:65536/0"),
            ("KOALA_SECRETS_DIR", "/nonexistent"),
            ("KOALA_SECRETS_DIR", "/etc/passwd"),
            ("KOALA_DATA", ""),
        ],
    )
    def test_a_bad_value_names_its_variable(self, monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
        monkeypatch.setenv(variable, value)
        with pytest.raises(SettingsError, match=f"{variable}: ") as error:
            load()
        assert error.value.exit in PERMANENT

    def test_all_bad_values_are_named_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KOALA_SLOTS", "0")
        monkeypatch.setenv("KOALA_TICK_S", "x")
        with pytest.raises(SettingsError, match=r"KOALA_SLOTS: .*; KOALA_TICK_S: "):
            load()

    def test_no_value_is_repeated_in_the_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Promise 6: somebody pastes a password into the wrong variable."""
        monkeypatch.setenv("KOALA_SLOTS", "hunter22")
        with pytest.raises(SettingsError) as error:
            load()
        assert "hunter22" not in str(error.value)

    def test_no_part_of_a_password_is_told_of_an_address_that_it_breaks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Promise 6: a `/` in it ends the host, and what is before it looks like a port."""
        monkeypatch.setenv("KOALA_REDIS_URL", "redis://:hunter22/x@127.0.0.1:1/0")
        with pytest.raises(SettingsError, match="KOALA_REDIS_URL: ") as error:
            load()
        assert "hunter22" not in str(error.value)

    def test_the_margin_is_at_most_half_of_the_lease(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KOALA_LEASE_TTL_S", "4")
        assert load().lease_ttl_s == 4
        monkeypatch.setenv("KOALA_TRUST_MARGIN_S", "2.1")
        with pytest.raises(SettingsError, match="KOALA_TRUST_MARGIN_S must be at most half"):
            load()


class TestFiles:
    def test_a_twin_names_a_file_with_the_value(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("KOALA_REDIS_PASSWORD_FILE", str(secret(tmp_path / "password")))
        monkeypatch.setenv("KOALA_SLOTS_FILE", str(secret(tmp_path / "slots", "3")))
        found = load()
        assert (found.password, found.slots) == ("hunter22", 3)

    def test_a_bad_value_in_a_file_names_the_variable(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("KOALA_SLOTS_FILE", str(secret(tmp_path / "slots", "none")))
        with pytest.raises(SettingsError, match="KOALA_SLOTS: "):
            load()

    def test_a_variable_and_its_twin_together_are_refused(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("KOALA_REDIS_PASSWORD_FILE", str(secret(tmp_path / "password")))
        monkeypatch.setenv("KOALA_REDIS_PASSWORD", "other")
        with pytest.raises(SettingsError, match=r"KOALA_REDIS_PASSWORD and .*/password both give it"):
            load()

    def test_the_secrets_directory_holds_the_password(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("KOALA_SECRETS_DIR", str(tmp_path))
        assert load().password is None
        secret(tmp_path / "redis_password")
        assert load().password == "hunter22"
        monkeypatch.setenv("KOALA_REDIS_PASSWORD", "other")
        with pytest.raises(SettingsError, match="both give it"):
            load()

    def test_a_directory_that_may_not_be_looked_into_is_not_one_without_a_password(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def refuse(path: Path) -> None:
            raise PermissionError

        monkeypatch.setenv("KOALA_SECRETS_DIR", str(tmp_path))
        monkeypatch.setattr(Path, "lstat", refuse)  # the tests' user may be root, who may look everywhere
        with pytest.raises(SettingsError, match="may not be read by uid"):
            load()

    def test_a_user_of_the_store_without_its_secret_is_told_which_file_is_missing(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("KOALA_SECRETS_DIR", str(tmp_path))
        monkeypatch.setenv("KOALA_REDIS_USER", "worker")
        with pytest.raises(SettingsError, match="redis_password is missing, and the store's user worker needs it"):
            load()

    def test_a_twin_is_stronger_than_the_secrets_directory(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        secret(tmp_path / "redis_password")
        monkeypatch.setenv("KOALA_SECRETS_DIR", str(tmp_path))
        monkeypatch.setenv("KOALA_REDIS_PASSWORD_FILE", str(secret(tmp_path / "own", "other")))
        assert load().password == "other"

    def test_an_empty_password_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KOALA_REDIS_PASSWORD", "")
        assert load().password is None


class TestSecretFiles:
    def test_its_value_is_taken_as_it_is(self, tmp_path: Path) -> None:
        assert read(secret(tmp_path / "s", " päss word ")) == " päss word "

    @pytest.mark.parametrize("mode", [0o404, 0o644, 0o402, 0o401])
    def test_one_that_others_may_open_is_refused(self, tmp_path: Path, mode: int) -> None:
        with pytest.raises(SettingsError, match=r"readable by everyone: chmod 0400"):
            read(secret(tmp_path / "s", mode=mode))

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("", "is empty: write the value"),
            ("hunter22\n", "ends in a newline: write it with printf"),
            ("hunter22\r\n", "ends in a newline"),
            (b"\xff\xfehunter22", "is not text in UTF-8"),
        ],
    )
    def test_one_that_was_written_badly_is_refused(self, tmp_path: Path, value: str | bytes, text: str) -> None:
        with pytest.raises(SettingsError, match=text) as error:
            read(secret(tmp_path / "s", value))
        assert "hunter22" not in str(error.value)

    def test_one_that_is_missing_says_how_to_make_it(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match=r"/s is missing: create it with mode 0400"):
            read(tmp_path / "s")

    def test_one_that_is_a_directory_is_refused(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
            read(tmp_path)


class TestShown:
    def test_secrets_are_stars(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Promise 6."""
        monkeypatch.setenv("KOALA_REDIS_PASSWORD", "hunter22")
        monkeypatch.setenv("KOALA_REDIS_URL", "redis://koala:tr0ub4dor@store:6379/0")
        found = load()
        for text in (str(found.shown()), repr(found), str(found)):
            assert "hunter22" not in text
        assert "tr0ub4dor" not in str(found.shown())
        assert found.shown()["redis_url"] == "redis://********@store:6379/0"

    def test_passwords_are_removed_from_all_texts_from_then_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Promise 6: an error of the client may quote them."""
        monkeypatch.setenv("KOALA_REDIS_PASSWORD", "hunter22")
        monkeypatch.setenv("KOALA_REDIS_URL", "redis://koala:tr0ub4dor@store:6379/0")
        load()
        assert redaction.redact("hunter22 tr0ub4dor") == "******** ********"

    def test_every_field_is_shown(self) -> None:
        assert load().shown().keys() == settings.Settings.model_fields.keys()


def test_a_relative_path_is_taken_from_where_the_program_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Browsers are given file addresses below it, which no relative path makes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KOALA_DATA", "data")
    assert load().data == tmp_path / "data"
