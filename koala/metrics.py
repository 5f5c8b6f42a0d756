"""Every metric that Koala shows, declared here and nowhere else.

Labels take their values from closed lists. So that a first event is seen as an increase, every combination is there
at 0 from the start. `koala.meters` makes the ones that a process counts itself; the pool-wide ones are read from the
store by the active scheduler, when it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from koala import counts, keys
from koala.schedules.state import Outcome, Status
from koala.starts import PROGRAMS
from koala.why import Reason


class Kind(StrEnum):
    """What it does over time."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Of(StrEnum):
    """Who shows it, about what."""

    POOL = "pool"
    """The whole pool; shown by the active scheduler alone."""
    SCHEDULER = "scheduler"
    WORKER = "worker"


GIVEN: tuple[str, ...] = ()
"""The values of a label that is closed when the program starts: workflows, slots, duties, its own image."""

DURATIONS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
TICKS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5)


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric. `labels` has the closed list of each label's values, GIVEN for what the start of a program closes."""

    name: str
    kind: Kind
    of: Of
    help: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    buckets: tuple[float, ...] = ()


WAITS = tuple(str(reason) for reason in Reason if reason is not Reason.NOTHING)
"""Why a task can wait."""
SLOT_STATES = ("idle", "busy", "starting", "draining", "resting", "trial")
"""What a slot does; `resting`: it takes nothing because no browser starts there."""
SWITCHES = ("pool", "workflow", "profile", "worker")
STUCK = ("lease", "overdue", "slot")
"""By what an attempt shows that it is stuck."""
BROWSER_STARTS = ("ok", "failed", "held")
"""How the start of a browser ends; `held`: an old holder still has the profile."""
BROWSER_ENDS = ("clean", "killed")
CRASHED_HERE = ("tab", "browser", "driver", "child")
CRASHES = tuple(str(kind) for kind in counts.Crash)


def _pool(name: str, kind: Kind, text: str, /, **labels: tuple[str, ...]) -> Metric:
    return Metric(f"koala_{name}", kind, Of.POOL, text, labels)


def _worker(name: str, kind: Kind, text: str, buckets: tuple[float, ...] = (), /, **labels: tuple[str, ...]) -> Metric:
    return Metric(f"koala_{name}", kind, Of.WORKER, text, labels, buckets)


def _scheduler(
    name: str, kind: Kind, text: str, buckets: tuple[float, ...] = (), /, **labels: tuple[str, ...]
) -> Metric:
    return Metric(f"koala_{name}", kind, Of.SCHEDULER, text, labels, buckets)


# The whole pool: tasks

TASKS = _pool("tasks", Kind.GAUGE, "Tasks that are kept, by status.", status=keys.STATUSES)
WAITING = _pool("tasks_waiting", Kind.GAUGE, "Tasks that wait, by why.", reason=WAITS)
OLDEST_WAITING = _pool(
    "oldest_waiting_seconds",
    Kind.GAUGE,
    "Since when the task that has waited longest for this reason could have run; 0 when none waits for it.",
    reason=WAITS,
)
UNEXAMINED = _pool(
    "tasks_waiting_unexamined",
    Kind.GAUGE,
    "Ready tasks whose reason was not looked at, because too many different ones wait: they are in no reason.",
)
LAST_COMPLETION = _pool(
    "last_completion_timestamp_seconds", Kind.GAUGE, "When a task was last done; 0 when none is known."
)
ENDED = _pool(
    "tasks_ended_total", Kind.COUNTER, "Tasks that have ended, by status.", workflow=GIVEN, status=counts.ENDINGS
)

# The whole pool: attempts

ATTEMPTS = _pool(
    "attempts_total",
    Kind.COUNTER,
    "Attempts that have ended, once each; `lost` are those whose worker was killed.",
    workflow=GIVEN,
    outcome=counts.OUTCOMES,
)
POOL_CRASHES = _pool("crashes_total", Kind.COUNTER, "What died under attempts, by kind.", kind=CRASHES)
STUCK_ATTEMPTS = _pool(
    "stuck_attempts",
    Kind.GAUGE,
    "Running attempts that should have ended by themselves: their lease is over and nobody took them back (lease), "
    "they are far beyond their runtime limit (overdue), or their slot gives no sign of life (slot).",
    sign=STUCK,
)
QUIET = _pool(
    "attempt_quiet_seconds",
    Kind.GAUGE,
    "How long the quietest running attempt has begun or ended no step and no effect; 0 when none runs.",
)

# The whole pool: who works, and what holds it

SLOTS = _pool("slots", Kind.GAUGE, "Live slots by state. A lost one leaves within a few heartbeats.", state=SLOT_STATES)
WORKERS = _pool("workers", Kind.GAUGE, "Workers with a live slot.")
LEASES = _pool("leases", Kind.GAUGE, "Leases that are held, and that ended unreturned.", state=("held", "expired"))
REVIEWS = _pool("reviews_open", Kind.GAUGE, "Questions that wait for a person.")
OLDEST_REVIEW = _pool(
    "oldest_review_seconds", Kind.GAUGE, "How long the oldest question has waited for a person; 0 when none does."
)
DELIVERIES = _pool("queue_deliveries", Kind.GAUGE, "Deliveries in the queues that no slot has taken yet.")
SWITCHED = _pool("switches_on", Kind.GAUGE, "Switches that are on: pauses and drains.", of=SWITCHES)
STARTS = _pool("starts_total", Kind.COUNTER, "Starts of each program, also those that failed.", program=PROGRAMS)
START_FAILURES = _pool(
    "failed_starts_total", Kind.COUNTER, "Lives of a program that ended in a failure.", program=PROGRAMS
)
CLEAN_ENDS = _pool(
    "clean_ends_total",
    Kind.COUNTER,
    "Lives of a program that ended well: drained, or asked to stop.",
    program=PROGRAMS,
)
FAILED_STARTS = _pool(
    "failed_starts_in_a_row",
    Kind.GAUGE,
    "How often in a row a program failed soon after its start, where that is most, lately; 0 when it is up.",
    program=PROGRAMS,
)
LAST_EXIT = _pool("last_exit_code", Kind.GAUGE, "The exit code that a program last ended with.", program=PROGRAMS)
LAST_START = _pool(
    "last_start_timestamp_seconds",
    Kind.GAUGE,
    "When a program was last started; 0 when none is known.",
    program=PROGRAMS,
)

# The whole pool: schedules

SCHEDULES = _pool("schedules", Kind.GAUGE, "Schedules by status.", status=tuple(map(str, Status)))
OCCURRENCES = _pool(
    "schedule_occurrences_total",
    Kind.COUNTER,
    "Planned runs that were decided, by what became of them; only `started` made a task.",
    outcome=tuple(map(str, Outcome)),
)
SCHEDULE_LAG = _pool(
    "schedule_lag_seconds",
    Kind.GAUGE,
    "By how much the schedule that should have been decided about first is overdue, also one about which nobody can "
    "decide; 0 when none is. Paused ones and those that are off never are.",
)

# A scheduler

ACTIVE = _scheduler("scheduler_active", Kind.GAUGE, "1 while this is the active scheduler, 0 while it stands by.")
STORE_UP = _scheduler("store_up", Kind.GAUGE, "1 when this scheduler could read and write the store just now.")
STORE_DURABLE = _scheduler(
    "store_durable",
    Kind.GAUGE,
    "1 when the store keeps what it acknowledges: its settings say so, and it could write its log; 0 also while it is "
    "away.",
)
TICK = _scheduler("scheduler_tick_seconds", Kind.HISTOGRAM, "One round of all duties that were due.", TICKS_S)
DUTY_RUNS = _scheduler("duty_runs_total", Kind.COUNTER, "How often a duty ran here.", duty=GIVEN)
DUTY_DID = _scheduler("duty_did_total", Kind.COUNTER, "How much it did: tasks, deliveries or records.", duty=GIVEN)
DUTY_LAST = _scheduler(
    "duty_last_run_timestamp_seconds", Kind.GAUGE, "When it last ran here; 0 when never.", duty=GIVEN
)
LOOK_ERRORS = _scheduler("pool_look_errors_total", Kind.COUNTER, "Looks at the store that failed or took too long.")
LOOK = _scheduler("pool_look_seconds", Kind.GAUGE, "How long the last look at the store took.")

# A worker

ATTEMPT_TIME = _worker(
    "attempt_duration_seconds",
    Kind.HISTOGRAM,
    "Attempts of this worker, from the lease to its release.",
    DURATIONS_S,
    workflow=GIVEN,
    outcome=counts.OUTCOMES,
)
STEP_TIME = _worker("step_duration_seconds", Kind.HISTOGRAM, "Steps that gave a result.", DURATIONS_S, workflow=GIVEN)
BROWSER_STARTED = _worker(
    "browser_starts_total",
    Kind.COUNTER,
    "What attempts opened: a profile's own browser, or a context of the warm one; held: by an old holder.",
    result=BROWSER_STARTS,
)
BROWSER_CLOSED = _worker(
    "browser_closes_total", Kind.COUNTER, "What became of those: closed in good order, or killed.", result=BROWSER_ENDS
)
CRASHED = _worker("browser_crashes_total", Kind.COUNTER, "What died under an attempt here.", kind=CRASHED_HERE)
RECYCLED = _worker("children_recycled_total", Kind.COUNTER, "Children replaced because of their age or attempts.")
SLOT_DEATHS = _worker("slot_deaths_total", Kind.COUNTER, "Slots that died and were started again.")
LAST_BEAT = _worker(
    "slot_last_beat_timestamp_seconds", Kind.GAUGE, "When a slot last said that it lives; 0 before.", slot=GIVEN
)
WORKER_SLOTS = _worker("worker_slots", Kind.GAUGE, "Slots that this worker has.")
SANDBOX = _worker("browser_sandbox", Kind.GAUGE, "1 when Chromium's own sandbox is on.")
MEMORY_USED = _worker("memory_used_bytes", Kind.GAUGE, "Memory of the container, or of the control group; 0 unknown.")
MEMORY_LIMIT = _worker("memory_limit_bytes", Kind.GAUGE, "What it may use; 0 when there is no limit.")
MEMORY_FULL = _worker("memory_limit_hits_total", Kind.COUNTER, "How often its memory was full.")
OOM_KILLS = _worker("oom_kills_total", Kind.COUNTER, "Processes that the kernel killed because its memory was full.")
ZOMBIES = _worker("zombies", Kind.GAUGE, "Dead processes below this worker that nobody has reaped.")
VOLUME_FREE = _worker("volume_free_bytes", Kind.GAUGE, "Room left on the data volume.")
VOLUME_SIZE = _worker("volume_size_bytes", Kind.GAUGE, "Size of the data volume.")
REFUSED_REPORTS = _worker(
    "reports_refused_total", Kind.COUNTER, "Words of a slot that are no metric of this list: a fault of Koala's."
)

# Each program

BUILD = Metric(
    "koala_build_info",
    Kind.GAUGE,
    Of.WORKER,
    "1; the labels say what runs here. A scheduler shows it too.",
    {"program": GIVEN, "version": GIVEN, "image": GIVEN},
)


def every() -> Iterator[Metric]:
    """All metrics, in the order of this page."""
    yield from (value for value in globals().values() if isinstance(value, Metric))


def of(who: Of) -> list[Metric]:
    """Those that one kind of program shows."""
    return [metric for metric in every() if metric.of is who]
