"""Settings: one object, read once from `KOALA_` variables, their `_FILE` twins and a secrets directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from koala.errors import SettingsError
from koala.redaction import address, know

IN_DIRECTORY = ("redis_password",)
"""The settings that are looked for in the secrets directory too, by their name."""


class Settings(BaseSettings):
    """Everything that can be set. Durations end in `_s` (seconds); sizes in `_bytes`."""

    model_config = SettingsConfigDict(env_prefix="KOALA_", extra="ignore", frozen=True)

    redis_url: str = "redis://127.0.0.1:6379/0"
    redis_password: SecretStr | None = None
    data: Path = Path("/var/lib/koala")
    secrets_dir: Path | None = None
    workflows: str = "workflows"
    """Modules that declare workflows, separated by commas or spaces."""

    slots: int = Field(2, ge=1, le=64)
    lease_ttl_s: float = Field(15.0, ge=2, le=300)
    trust_margin_s: float = Field(2.0, ge=0.3)
    heartbeat_s: float = Field(2.0, gt=0)
    step_timeout_s: float = Field(60.0, gt=0)
    close_budget_s: float = Field(8.0, gt=0)
    drain_soft_s: float = Field(60.0, gt=0)
    old_holder_wait_s: float = Field(2.0, gt=0)
    child_attempts: int = Field(50, ge=1)
    """Attempts after which a child and its browser are recycled."""
    child_age_s: float = Field(3600.0, gt=0)

    tick_s: float = Field(0.25, gt=0)
    sweep_s: float = Field(1.0, gt=0)
    leader_ttl_s: float = Field(6.0, ge=1)
    handed_wait_s: float = Field(5.0, gt=0)
    backoff_s: float = Field(5.0, ge=0)
    backoff_most_s: float = Field(600.0, ge=0)

    keep_tasks_days: float = Field(30, gt=0)
    keep_ledger_days: float = Field(400, gt=0)
    payload_bytes: int = Field(256 * 1024, gt=0)

    chromium: Path | None = None
    headless_shell: Path | None = None
    browser_sandbox: bool = True
    """Chromium's own sandbox. Running as root needs an explicit `KOALA_BROWSER_SANDBOX=0`."""
    headed: bool = False

    log_format: str = Field("json", pattern="^(json|text)$")
    log_level: str = Field("info", pattern="^(debug|info|warning|error|critical)$")

    faults: str = ""
    """Fault points for tests, `point:action` separated by commas. Empty in production."""

    @field_validator("redis_password", mode="before")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        return value or None

    @model_validator(mode="after")
    def _inequalities(self) -> Settings:
        if self.trust_margin_s * 2 > self.lease_ttl_s:
            raise ValueError("KOALA_TRUST_MARGIN_S must be at most half of KOALA_LEASE_TTL_S")
        return self

    @property
    def renew_s(self) -> float:
        """How often a lease is renewed: well within a third of its life."""
        return self.lease_ttl_s / 4

    @property
    def modules(self) -> list[str]:
        """The workflow modules."""
        return self.workflows.replace(",", " ").split()

    @property
    def password(self) -> str | None:
        """The store's password, for the connection only."""
        return self.redis_password.get_secret_value() if self.redis_password else None

    def shown(self) -> dict[str, str]:
        """All settings as text, secrets as stars."""
        shown = {name: str(value) for name, value in self.model_dump().items()}
        return {**shown, "redis_url": address(self.redis_url)}


def read_secret(path: Path) -> str:
    """A secret file's value. Raises SettingsError when it is missing, empty, open to others or ends in a newline."""
    try:
        mode = path.stat().st_mode
        value = path.read_text("utf-8")
    except FileNotFoundError:
        raise SettingsError(f"the secret {path} is missing: create it with mode 0400") from None
    except UnicodeDecodeError:
        raise SettingsError(f"the secret {path} is not text in UTF-8: write it again") from None
    except OSError as error:
        raise SettingsError(f"the secret {path} cannot be read: {error.strerror}") from None
    if mode & (stat.S_IRWXO):
        raise SettingsError(f"the secret {path} is readable by everyone: chmod 0400 it")
    if not value:
        raise SettingsError(f"the secret {path} is empty: write the value into it")
    if value.endswith("\n"):
        raise SettingsError(f"the secret {path} ends in a newline: write it with printf '%s'")
    return value


def _from_files(environ: Mapping[str, str], given: Container[str]) -> dict[str, str]:
    """Values of `KOALA_X_FILE` twins and of the secrets directory, by field name."""
    found: dict[str, str] = {}
    for name in Settings.model_fields:
        if name in given:
            continue
        variable = f"KOALA_{name.upper()}"
        path = _file_of(name, environ)
        if path and environ.get(variable):
            raise SettingsError(f"{variable} and {path} both give it: keep one")
        if path:
            found[name] = read_secret(path)
    return found


def _file_of(name: str, environ: Mapping[str, str]) -> Path | None:
    """The file that holds a setting: its twin's, or of a secret the one in the secrets directory; None without."""
    twin, folder = environ.get(f"KOALA_{name.upper()}_FILE"), environ.get("KOALA_SECRETS_DIR")
    if twin:
        return Path(twin)
    if folder and name in IN_DIRECTORY and os.path.lexists(Path(folder) / name):
        return Path(folder) / name
    return None


def load(**given: Any) -> Settings:
    """Read and check all settings; what is `given` is taken as it is and read from nowhere.

    Raises SettingsError naming each variable that is wrong, without its value.
    """
    try:
        settings = Settings(**{**_from_files(os.environ, given), **given})
    except ValidationError as error:
        lines = [
            f"KOALA_{'_'.join(str(part) for part in item['loc']).upper()}: {item['msg']}"
            if item["loc"]
            else item["msg"]
            for item in error.errors(include_input=False)
        ]
        raise SettingsError("settings are wrong: " + "; ".join(lines)) from None
    for secret in (settings.password, urlsplit(settings.redis_url).password):
        if secret:
            know(secret)
    return settings
