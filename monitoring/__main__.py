"""Writes Grafana's dashboard: python -m monitoring."""

from __future__ import annotations

import json
from pathlib import Path

from monitoring.dashboard import koala

DASHBOARD = Path(__file__).parent / "grafana" / "dashboards" / "koala.json"


def text() -> str:
    """The file's content."""
    return json.dumps(koala(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DASHBOARD.write_text(text(), "utf-8")
    print(DASHBOARD)
