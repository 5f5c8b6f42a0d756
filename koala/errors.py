"""One tree of errors; each class has one meaning, a stable code and a message that says what to do next.

Signals of the author's interface (`koala.signals`) are not errors and stand outside this tree.
"""

from __future__ import annotations

from koala.exits import Exit

SILENT = {TimeoutError: "a time limit passed"}
"""What an error means that carries no words of its own."""


def told(error: BaseException) -> str:
    """An error as one text: its type, and what it says, or what it means when it says nothing."""
    text = str(error) or next((meaning for kind, meaning in SILENT.items() if isinstance(error, kind)), "")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class KoalaError(Exception):
    """Root of everything Koala raises on purpose. `code` is stable; `exit` is what a program ends with."""

    code = "koala"
    exit = Exit.FAILED
    retry = False
    """Whether the same call may succeed later without anybody changing anything."""


class Permanent(KoalaError):
    """For a workflow to raise, or to derive from: trying again would not help, so its task fails at once."""

    code = "permanent"


class OutputLost(KoalaError):
    """Standard output is full, closed or broken. What was asked may be done: the text says it where it is."""

    code, exit = "output", Exit.UNTOLD


class StoreAway(KoalaError):
    """The store does not answer. The write may or may not be there: ask again with the same token."""

    code, exit, retry = "store_away", Exit.STORE_AWAY, True


class StoreUnsafe(KoalaError):
    """The store could lose or evict an acknowledged write, or is too old."""

    code, exit = "store_unsafe", Exit.STORE_UNSAFE


class StoreForbidden(StoreUnsafe):
    """The store's access list does not let our user do this. Waiting does not help."""

    code = "store_forbidden"


class StoreNewer(KoalaError):
    """The store was written by a newer Koala."""

    code, exit = "store_newer", Exit.STORE_NEWER


class SettingsError(KoalaError):
    """A setting or a secret is missing, malformed, or readable by others."""

    code, exit = "settings", Exit.SETTINGS


class WorkflowsError(KoalaError):
    """The workflow modules cannot be loaded, or two workflows claim one name and version."""

    code, exit = "workflows", Exit.WORKFLOWS


class UnknownWorkflow(KoalaError):
    """No workflow of that name is known here."""

    code, exit = "unknown_workflow", Exit.NOT_FOUND


class InvalidArguments(KoalaError):
    """The arguments do not fit the workflow's model."""

    code, exit = "invalid_arguments", Exit.USAGE


class PayloadTooLarge(KoalaError):
    """A payload, checkpoint or result is over its size limit."""

    code, exit = "payload_too_large", Exit.USAGE


class InvalidName(KoalaError):
    """A name contains characters that could leave its directory or its key."""

    code, exit = "invalid_name", Exit.USAGE


class NotFound(KoalaError):
    """The task, review, profile or worker named does not exist."""

    code, exit = "not_found", Exit.NOT_FOUND


class Refused(KoalaError):
    """Understood, but not allowed in the present state; the text says why."""

    code, exit = "refused", Exit.REFUSED


class VolumeError(KoalaError):
    """The data directory is not the volume that was expected, or cannot hold kernel locks."""

    code, exit = "volume", Exit.VOLUME


class BrowserMissing(KoalaError):
    """No usable browser was found."""

    code, exit = "browser_missing", Exit.BROWSER


class StoreWentBack(KoalaError):
    """A lock file knows a higher fence than the store gives: the store was restored without being told."""

    code, exit = "store_went_back", Exit.WENT_BACK
