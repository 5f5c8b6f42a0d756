"""Which cases of a parametrized test were selected, for a fixture that runs them all at the same time."""

from __future__ import annotations

from typing import Any

import pytest


def selected(request: pytest.FixtureRequest, parameter: str) -> list[Any]:
    """The values of `parameter` in the selected tests of the fixture's module, each once, in order."""
    specs = [
        item.callspec
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec")
    ]
    return list(dict.fromkeys(spec.params[parameter] for spec in specs if parameter in spec.params))
