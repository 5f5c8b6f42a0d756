"""Settings: one object, read once from `KOALA_` variables, their `_FILE` twins and a secrets directory."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from koala import secret
from koala.errors import SettingsError
from koala.redaction import address, know

IN_DIRECTORY = ("redis_password",)
"""The settings that are looked for in the secrets directory too, by their name."""


OTHERS = frozenset({"KOALA_PYTHON", "KOALA_STOPPED_EXIT", "KOALA_FAULTS_DIR", "KOALA_LOGIN_UNSEEN"})
"""Variables of ours that are no settings."""


class Settings(BaseSettings):
    """Everything that can be set. Durations end in `_s` (seconds); sizes in `_bytes`."""

    model_config = SettingsConfigDict(env_prefix="KOALA_", extra="ignore", frozen=True, use_attribute_docstrings=True)

    redis_url: str = "redis://127.0.0.1:6379/0"
    """Where the store is: `redis://host:port/db` or `unix:///path`."""
    redis_user: str = ""
    """Whom the store knows us as: a user of its access list. Empty: its default user."""
    redis_password: SecretStr | None = None
    """The store's password; better `KOALA_REDIS_PASSWORD_FILE`, or a file `redis_password` in the secrets directory."""
    data: Path = Path("/var/lib/koala")
    """The data volume: profiles, locks, artifacts, temporary files. On a local disk. `koala run` has one of its own,
    below `$XDG_STATE_HOME/koala` (`~/.local/state/koala`)."""
    secrets_dir: Path | None = None
    """The directory of secrets, a file each, mode 0400. `run.secret("x")` reads the file `x` in it."""
    workflows: str = "workflows"
    """Modules that declare workflows, separated by commas or spaces."""

    slots: int = Field(2, ge=1, le=64)
    """Attempts that a worker runs at a time: its browser concurrency."""
    slot_bytes: int = Field(700 * 1024 * 1024, ge=0)
    """Memory that a slot may need: its two processes, the driver and a browser. `python -m bench.memory` saw about 370
    MiB with the pages of the demo shop; the rest is for heavier ones."""
    worker_bytes: int = Field(128 * 1024 * 1024, ge=0)
    """Memory that the worker itself needs: 45 MiB were seen. A worker whose slots do not fit the container's limit
    together with it is refused at start, with the sum."""
    slot_silent_s: float = Field(30.0, gt=0)
    """How long a slot may give no sign of life before it is killed with all below it; never shorter than a lease."""
    store_wait_s: float = Field(0.0, ge=0)
    """How long a start waits for a store that does not answer. 0: it ends at once, and is started again by others."""
    starts: Path | None = None
    """The directory in which each start and its end are written down, before anything else. Empty: nowhere."""
    health: Path | None = None
    """The file that is touched while the program is well: `python -m worker health` reads it. Empty: none."""
    lease_ttl_s: float = Field(15.0, ge=2, le=300)
    """How long a lease lasts without renewal: what a killed worker's task waits at most."""
    trust_margin_s: float = Field(2.0, ge=0.3)
    """How much of that its holder does not count on."""
    heartbeat_s: float = Field(2.0, gt=0)
    """How often a slot says that it lives."""
    step_timeout_s: float = Field(60.0, gt=0)
    """The time of a step that gives no `timeout` itself."""
    close_budget_s: float = Field(8.0, gt=0)
    """How long a browser may take to close before it is killed."""
    drain_soft_s: float = Field(60.0, gt=0)
    """How long a drain waits for an attempt before it parks it; never between `sent` and its settlement."""
    old_holder_wait_s: float = Field(2.0, gt=0)
    """How soon a task is tried again that waits for an old holder of its profile or effect; it doubles."""
    old_holder_wait_most_s: float = Field(60.0, gt=0)
    """The longest such pause."""
    child_attempts: int = Field(50, ge=1)
    """Attempts after which a child and its browser are recycled."""
    child_age_s: float = Field(3600.0, gt=0)
    """Seconds after which they are."""

    tick_s: float = Field(0.25, gt=0)
    """How often the active scheduler promotes and hands over."""
    sweep_s: float = Field(1.0, gt=0)
    """How often it looks for ended leases, deadlines and lost deliveries."""
    leader_ttl_s: float = Field(6.0, ge=1)
    """How long a standby waits before it takes over from a scheduler that died."""
    handed_wait_s: float = Field(5.0, gt=0)
    """How long a task may be handed over without a lease before its delivery counts as lost."""
    backoff_s: float = Field(5.0, ge=0)
    """The first pause after a failed attempt; it doubles, with jitter."""
    backoff_most_s: float = Field(600.0, ge=0)
    """The longest such pause."""

    keep_tasks_days: float = Field(30, gt=0)
    """How long ended tasks are kept."""
    keep_ledger_days: float = Field(400, gt=0)
    """How long the ledger and dedupe keys are kept. Removing a ledger record re-allows its effect."""
    payload_bytes: int = Field(256 * 1024, gt=0)
    """The largest arguments of a task."""

    chromium: Path | None = None
    """Full Chromium, where it is not found by itself."""
    headless_shell: Path | None = None
    """The headless shell, likewise; for work without a profile only."""
    browser_sandbox: bool = True
    """Chromium's own sandbox. Running as root needs an explicit `KOALA_BROWSER_SANDBOX=0`."""
    headed: bool = False
    """Show the browsers; needs a display."""
    proxy: str = ""
    """The only way out for pages and for workflows' own HTTP, to loopback addresses too: `http://host:port`. Empty:
    none, they go out directly."""
    launch_check: bool = True
    """Start each browser once before a worker takes work, and again when browsers die under tasks. A worker whose
    browser does not come up ends, with the reason."""

    image: str = Field("dev", pattern="^[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,127}$")
    """The release that this program is of, as a tag: attempts and crashes are counted by it."""
    metrics_port: int = Field(0, ge=0, le=65535)
    """Where `/metrics` is answered. 0: nowhere. A port that is taken is logged, and the program goes on without."""
    metrics_host: str = "127.0.0.1"
    """The address on which it is: in a container `0.0.0.0`."""

    log_format: str = Field("json", pattern="^(json|text)$")
    """`json` or `text`."""
    log_level: str = Field("info", pattern="^(debug|info|warning|error|critical)$")
    """`debug`, `info`, `warning`, `error` or `critical`."""

    faults: str = ""
    """Fault points for tests, `point:action` separated by commas. Empty in production."""

    @field_validator("redis_password", "chromium", "headless_shell", "secrets_dir", "starts", "health", mode="before")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        return value or None

    @field_validator("data", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if value == "":
            raise ValueError("is empty: name a directory, or leave it out")
        return value

    @field_validator("data", "secrets_dir", "chromium", "headless_shell", "starts", "health")
    @classmethod
    def _from_the_root(cls, value: Path | None) -> Path | None:
        return value and value.absolute()  # it is used in addresses, and by programs that start elsewhere

    @field_validator("proxy")
    @classmethod
    def _a_proxy(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            fits = parts.scheme == "http" and parts.hostname and parts.port and not parts.path.strip("/")
        except ValueError:
            fits = False
        if value and not fits:
            raise ValueError("not a proxy: give http://host:port")
        if "@" in value:  # it would show in process lists
            raise ValueError("has a user or a password in it: use a proxy that asks for none")
        return value

    @field_validator("redis_url")
    @classmethod
    def _an_address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            known = parts.scheme in ("redis", "rediss", "unix") and parts.port != -1  # asking checks the port
        except ValueError:
            known = False
        if not known:
            raise ValueError("not an address: give redis://host:port/db or unix:///path")
        return value

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
    def hung_after_s(self) -> float:
        """A slot that was silent for so long has lost its lease too: killing it costs no attempt more."""
        return max(self.slot_silent_s, self.lease_ttl_s)

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
            found[name] = secret.read(path)
    return found


def _file_of(name: str, environ: Mapping[str, str]) -> Path | None:
    """The file that holds a setting: its twin's, or of a secret the one in the secrets directory; None without."""
    twin, folder = environ.get(f"KOALA_{name.upper()}_FILE"), environ.get("KOALA_SECRETS_DIR")
    if twin:
        return Path(twin)
    if folder and name in IN_DIRECTORY and _is_there(Path(folder) / name):
        return Path(folder) / name
    return None


def _is_there(path: Path) -> bool:
    """Whether a directory has this file. Raises SettingsError for one that may not be looked into: not to be allowed
    to know is not the same as a secret that was not given.
    """
    try:
        path.lstat()
    except PermissionError:
        raise SettingsError(
            f"the secrets directory {path.parent} may not be read by uid {os.getuid()}: give it to that user, mode 0700"
        ) from None
    except OSError:
        return False
    return True


def unknown(environ: Mapping[str, str]) -> list[str]:
    """Variables that begin like a setting and are none, each with the setting that may have been meant."""
    known = {f"KOALA_{name.upper()}{end}" for name in Settings.model_fields for end in ("", "_FILE")} | OTHERS
    strange = sorted(name for name in environ if name.startswith("KOALA_") and name not in known)
    meant = {name: get_close_matches(name, known, 1) for name in strange}
    return [f"{name} (did you mean {meant[name][0]}?)" if meant[name] else name for name in strange]


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
    if settings.secrets_dir and not settings.secrets_dir.is_dir():
        raise SettingsError(
            f"settings are wrong: KOALA_SECRETS_DIR: {settings.secrets_dir} is no directory: name the one with the "
            "secrets, or leave it out"
        )
    if (
        settings.redis_user
        and settings.secrets_dir
        and not (settings.password or urlsplit(settings.redis_url).password)
    ):
        raise SettingsError(
            f"the secret {settings.secrets_dir / 'redis_password'} is missing, and the store's user "
            f"{settings.redis_user} needs it: `make up` makes it, or put the password there, mode 0400"
        )
    for value in (settings.password, urlsplit(settings.redis_url).password):
        if value:
            know(value)
    return settings
