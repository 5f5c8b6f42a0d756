"""What a running Prometheus says, wherever it runs."""

from __future__ import annotations

import time
from typing import Any

import httpx2

from monitoring import scale


class PrometheusView:
    """Over any real Prometheus, whose rules were scaled by `factor`."""

    def __init__(self, url: str, factor: float = 1) -> None:
        self.factor = factor
        self.http = httpx2.Client(base_url=url, timeout=30, trust_env=False)

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The series that an expression gives now, `metric` and `value` each; AssertionError when it is refused."""
        answer = self.http.get("/api/v1/query", params={"query": expr}).json()
        assert answer["status"] == "success", f"{expr}: {answer}"
        result = answer["data"]["result"]
        return result if answer["data"]["resultType"] == "vector" else [{"metric": {}, "value": result}]

    def scaled(self, expr: str) -> str:
        """An expression of production in the time of this one."""
        return scale.scaled(expr, self.factor)

    def value(self, expr: str) -> float | None:
        """The one value of an expression; None without data."""
        found = self.query(expr)
        assert len(found) <= 1, f"{expr} gives {len(found)} series"
        return float(found[0]["value"][1]) if found else None

    def state(self) -> str:
        """The word for the pool; empty before the first evaluation."""
        return "".join(series["metric"]["state"] for series in self.query("koala:state"))

    def rules(self) -> list[dict[str, Any]]:
        """Every rule as it runs: `name`, `query`, `type`, `health`, `lastError`."""
        groups = self.http.get("/api/v1/rules").json()["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        return {series["metric"]["alertname"] for series in self.query('ALERTS{alertstate="firing"}')}

    def fired(self, since: float) -> set[str]:
        """The names of all alerts that fired since a time (seconds since 1970).

        Without KoalaNoScheduler where it was right: a machine so busy that schedulers did not answer in time.
        """
        window = f"{max(1, round((time.time() - since) * 1000))}ms"
        found = self.query(f'last_over_time(ALERTS{{alertstate="firing"}}[{window}])')
        silent = self.query(f'min_over_time(up{{job="scheduler"}}[{window}]) == 0')
        names = {series["metric"]["alertname"] for series in found}
        return names - {"KoalaNoScheduler"} if silent else names
