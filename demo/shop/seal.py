"""Values that go out to a browser and are believed when they come back."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path


class Seal:
    """Signs text with a key that lies in a file: what was sealed before a restart still holds after it."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def kept_in(cls, path: Path) -> Seal:
        """The seal whose key lies at `path`; made at the first call, whole or not at all."""
        if not path.exists():
            draft = path.with_suffix(".new")
            draft.write_bytes(secrets.token_hex(32).encode())
            draft.chmod(0o600)
            os.replace(draft, path)
        return cls(path.read_bytes())

    def close(self, purpose: str, text: str) -> str:
        """The text with its signature; what is sealed for one purpose does not open for another."""
        return f"{text}.{self._signature(purpose, text)}"

    def open(self, purpose: str, sealed: str) -> str | None:
        """The text, or None when it was not sealed here for this purpose."""
        text, _, signature = sealed.rpartition(".")
        right = self._signature(purpose, text)
        return text if hmac.compare_digest(signature.encode(), right.encode()) else None

    def _signature(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), "sha256").hexdigest()[:32]
