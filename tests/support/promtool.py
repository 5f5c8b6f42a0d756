"""Rules against an imagined pool: what its programs would show over time, and what is said about it then."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from koala import counts, keys, metrics

RULES = Path(__file__).resolve().parents[2] / "monitoring" / "prometheus" / "rules"
STEP_S = 10
EVERY_S = 20
"""How often the rules are evaluated: half as often as in production, because that is most of a test's time."""

FIRST, SECOND = 'instance="s1",job="scheduler"', 'instance="s2",job="scheduler"'
"""The scheduler that leads, and the one that stands by."""

Step = tuple[float, float | None] | tuple[float, float | None, float]
"""From this minute on this value, growing by so much a minute; None: the series has ended."""


class Story:
    """Two workers and two schedulers that do six tasks a minute with half of their slots, until told otherwise."""

    def __init__(self, minutes: int = 40) -> None:
        self._samples = minutes * 60 // STEP_S
        self._series: dict[str, tuple[Step, ...]] = dict(_healthy())
        self._tests: list[dict[str, Any]] = []

    def show(self, name: str, *steps: Step, who: str = FIRST, **labels: str) -> None:
        """Let a series go so from the beginning."""
        self._series[_series(name, who, labels)] = steps

    def silent(self, who: str, minute: float) -> None:
        """Let all that a program shows end, as when it has left the resolver's answer."""
        for name, steps in list(self._series.items()):
            if who in name:
                self._series[name] = (*[step for step in steps if step[0] < minute], (minute, None))

    def take_over(self, minute: float) -> None:
        """Let the second scheduler tell about the pool from then on, instead of the first, which is gone."""
        for name, steps in list(self._series.items()):
            if FIRST in name and not name.startswith("up"):
                self._series[name.replace(FIRST, SECOND)] = ((0, None), *_from(steps, minute + 0.5))
        self.silent(FIRST, minute)
        self.show("up", (0, 1), who=SECOND)
        self.show("koala_scheduler_active", (0, 0), (minute + 0.5, 1), who=SECOND)
        for name in ("koala_store_up", "koala_store_durable"):
            self.show(name, (0, 1), who=SECOND)

    def idle(self, minute: float = 0) -> None:
        """Let nothing run and nothing be done from then on."""
        self._busy((0, 2), (minute, 0))
        self._nothing_done(minute)

    def full(self, minute: float) -> None:
        """Let every slot run something from then on that does not end."""
        self._busy((0, 2), (minute, 4))
        self._nothing_done(minute)

    def _busy(self, *steps: tuple[float, int]) -> None:
        self.show("koala_tasks", *steps, status="running")
        self.show("koala_slots", *steps, state="busy")
        self.show("koala_slots", *[(minute, 4 - number) for minute, number in steps], state="idle")
        self.show("koala_leases", *steps, state="held")

    def _nothing_done(self, minute: float) -> None:
        for name, label in (("koala_tasks_ended_total", "status"), ("koala_attempts_total", "outcome")):
            at = 100 + 6 * minute
            self.show(name, (0, 100, 6), (minute, at), workflow="shop.order", **{label: "done"})

    def waits(self, reason: str, *steps: Step) -> None:
        """Let so many tasks wait, the oldest since the last time that none did."""
        self.show("koala_tasks_waiting", *steps, reason=reason)
        ages: list[Step] = [(step[0], 0.0, 60.0) if step[1] else (step[0], 0.0) for step in steps]
        self.show("koala_oldest_waiting_seconds", *ages, reason=reason)

    def workers(self, *steps: tuple[float, int], slots: int = 2) -> None:
        """Let so many workers be there, all of their slots idle, and each answer Prometheus."""
        self.show("koala_workers", *steps)
        self.show("koala_slots", *[(minute, number * slots) for minute, number in steps], state="idle")
        self.show("koala_slots", (0, 0), state="busy")
        for worker in range(max(number for _, number in steps)):
            there = [(minute, 1 if number > worker else None) for minute, number in steps]
            self.show("up", *there, who=_worker(worker))

    def expect(self, minute: float, state: str, *alerts: str) -> None:
        """Expect the word, and that these alerts fire and no other."""
        at = f"{round(minute * 60)}s"
        firing = [_sample(f'{{alertname="{name}"}}', 1) for name in alerts]
        words = [_sample(f'{{state="{state}"}}', 1)]
        of_alerts = 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0'
        self._tests += [
            {"expr": "count by (state) (koala:state)", "eval_time": at, "exp_samples": words},
            {"expr": of_alerts, "eval_time": at, "exp_samples": firing},
        ]

    def told(self, minute: float, expr: str, value: float) -> None:
        """Expect the one value of an expression, which has no labels."""
        self._tests.append({"expr": expr, "eval_time": f"{round(minute * 60)}s", "exp_samples": [_sample("{}", value)]})

    def check(self) -> None:
        """AssertionError with what promtool says when something expected is not so."""
        assert self._tests, "nothing is expected"
        with tempfile.TemporaryDirectory(prefix="koala-rules-") as folder:
            file = Path(folder) / "story.yml"
            file.write_text(json.dumps(self._content()))
            done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def _content(self) -> dict[str, Any]:
        series = [{"series": name, "values": self._values(steps)} for name, steps in self._series.items()]
        test = {"interval": f"{STEP_S}s", "input_series": series, "promql_expr_test": self._tests}
        files = [str(RULES / name) for name in ("state.yml", "alerts.yml")]
        return {"rule_files": files, "evaluation_interval": f"{EVERY_S}s", "tests": [test]}

    def _values(self, steps: tuple[Step, ...]) -> str:
        """Promtool's notation: pieces `value+growth x repeats`."""
        begins = [round(step[0] * 60 / STEP_S) for step in steps]
        ends = [*begins[1:], self._samples]
        pieces = zip(steps, begins, ends, strict=True)
        return " ".join(_piece(step, end - begin) for step, begin, end in pieces if end > begin)


def _piece(step: Step, samples: int) -> str:
    if step[1] is None:  # a stale mark first, as Prometheus writes when a target goes
        return "stale" + (f" _x{samples - 1}" if samples > 1 else "")
    growth = (step[2] if len(step) == 3 else 0.0) * STEP_S / 60
    return f"{step[1]:g}+{growth:g}x{samples - 1}"


def _from(steps: tuple[Step, ...], minute: float) -> Iterator[Step]:
    """The steps as somebody tells them who begins then, a little after the one before has ended."""
    for step, after in zip(steps, [*steps[1:], (float("inf"), 0)], strict=True):
        begin, value, growth = step[0], step[1], step[2] if len(step) == 3 else 0.0
        if after[0] > minute:
            late = max(begin, minute)
            yield late, None if value is None else value + growth * (late - begin), growth


def _sample(labels: str, value: float) -> dict[str, Any]:
    return {"labels": labels, "value": value}


def _worker(number: int) -> str:
    return f'instance="w{number}",job="worker"'


def _series(name: str, who: str, labels: dict[str, str]) -> str:
    pairs = ",".join([who, *(f'{label}="{value}"' for label, value in labels.items())])
    return f"{name}{{{pairs}}}"


def _zeros() -> Iterator[tuple[str, dict[str, str]]]:
    """Every pool-wide series with closed labels: there from the start."""
    for metric in metrics.of(metrics.Of.POOL):
        closed = {**metric.labels, **({"workflow": ("shop.order",)} if "workflow" in metric.labels else {})}
        combined: list[dict[str, str]] = [{}]
        for label, values in closed.items():
            combined = [{**one, label: value} for one in combined for value in values]
        yield from ((metric.name, labels) for labels in combined)


def _healthy() -> Iterator[tuple[str, tuple[Step, ...]]]:
    for name, labels in _zeros():
        yield _series(name, FIRST, labels), ((0, 0),)
    pool: list[tuple[str, dict[str, str], Step]] = [
        ("koala_tasks", {"status": "running"}, (0, 2)),
        ("koala_tasks_ended_total", {"workflow": "shop.order", "status": keys.STATUSES[5]}, (0, 100, 6)),
        ("koala_attempts_total", {"workflow": "shop.order", "outcome": counts.OUTCOMES[0]}, (0, 100, 6)),
        ("koala_slots", {"state": "idle"}, (0, 2)),
        ("koala_slots", {"state": "busy"}, (0, 2)),
        ("koala_leases", {"state": "held"}, (0, 2)),
        ("koala_workers", {}, (0, 2)),
        ("koala_attempt_quiet_seconds", {}, (0, 5)),
        ("koala_starts_total", {"program": "worker"}, (0, 7)),
        ("koala_starts_total", {"program": "scheduler"}, (0, 4)),
    ]
    for name, labels, step in pool:
        yield _series(name, FIRST, labels), (step,)
    for program in metrics.PROGRAMS:
        for name in ("koala_clean_ends_total", "koala_failed_starts_total"):
            yield _series(name, FIRST, {"program": program}), ((0, 1),)
    for who in (FIRST, SECOND):
        yield _series("koala_scheduler_active", who, {}), ((0, 1 if who == FIRST else 0),)
        for name in ("up", "koala_store_up", "koala_store_durable"):
            yield _series(name, who, {}), ((0, 1),)
    for number in range(2):
        yield _series("up", _worker(number), {}), ((0, 1),)
        yield _series("koala_slot_last_beat_timestamp_seconds", _worker(number), {"slot": "0"}), ((0, 1, 60),)
