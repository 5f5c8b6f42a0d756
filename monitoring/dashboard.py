"""The one dashboard: every panel asks a question, and its description says what to do when the answer looks wrong."""

from __future__ import annotations

from monitoring.board import dashboard
from monitoring.panels import Json, Lines, Panel, Query, Stack, Stat, States, Word
from monitoring.state import STATES

WORDS = {rank: Word(state.word, state.color) for rank, state in enumerate(STATES, 1)}
FAILED = 'outcome=~"failed|crashed|lost"'

STATE = Stat(
    "How is the pool?",
    "The first word that holds, from worst to best; docs/alerts.md says what each one asks for. `koala status` "
    "names the tasks behind it.",
    [Query("koala:state", now=True)],
    width=6,
    height=5,
    words=WORDS,
    absent="no data: is Prometheus up?",
)

HISTORY = States(
    "How was it before?",
    "The same word over time. A word that comes and goes is worth a look at what changed just then.",
    [Query("max(koala:state)", "state")],
    width=10,
    height=5,
    words=WORDS,
)

ALERTS = States(
    "What asks for a person?",
    "Each bar is an alert that fires; docs/alerts.md has a section for every one. None is good.",
    [Query('max by (alertname) (ALERTS{alertstate="firing"})', "{{alertname}}")],
    width=8,
    height=5,
    steps=(("red", None),),
)

FINISHED = Lines(
    "Is work being finished?",
    "Tasks that end, a minute. Nothing while work waits: look at why it waits (below), then at `koala status`. Many "
    "`failed` or `dead`: the panel of failed attempts says where.",
    [Query("sum by (status) (rate(koala:tasks_ended[5m])) * 60", "{{status}}")],
    width=12,
)

LAST = Stat(
    "When was a task last done?",
    "Long ago is only wrong when work waits. Then see the oldest task's timeline: `koala task ID`.",
    [Query("time() - (max(koala_last_completion_timestamp_seconds) > 0)", now=True)],
    unit="s",
    width=6,
    absent="never",
)

OLDEST = Stat(
    "How old is the oldest task that waits?",
    "Of those that nobody holds back. Older than you accept: add workers when it waits for capacity (`make scale`),"
    " else `koala status` names it and its reason.",
    [Query('max(koala:oldest_waiting_seconds{reason=~"capacity|profile|provider|old holder"})', now=True)],
    unit="s",
    width=6,
    steps=(("green", None), ("orange", 300), ("red", 1800)),
)

WHY = Stack(
    "Why do tasks wait?",
    "`capacity`: every slot is busy, or none is there. `old holder`: a frozen process keeps a profile. `paused` and"
    " `draining`: a switch (`koala status`). `review`: a person is asked (`koala review list`). `version`: no "
    "worker runs it.",
    [
        Query("koala:tasks_waiting > 0", "{{reason}}"),
        Query("max(koala_tasks_waiting_unexamined) > 0", "not looked at"),
    ],
)

AGE = Lines(
    "How long has the oldest one waited, by reason?",
    "A line that only rises is a reason that nothing mends by itself. `due` above zero: no scheduler makes due tasks "
    "ready.",
    [Query("koala:oldest_waiting_seconds > 0", "{{reason}}")],
    unit="s",
)

DEPTH = Stack(
    "How deep is the queue?",
    "`ready` waits for a slot and `later` for its time; `handed` and deliveries are on their way to one. Ready that"
    " grows for long means too few slots.",
    [
        Query('koala:tasks{status=~"ready|handed|later"}', "{{status}}"),
        Query("max(koala_queue_deliveries)", "deliveries"),
    ],
)

SLOTS = Stack(
    "What do the slots do?",
    "`resting`: no browser starts there, see that worker's log. `draining` and `trial` belong to a drain or a roll-"
    "out. Idle slots while tasks wait for capacity: the hand-over is broken, look at the scheduler.",
    [Query("koala:slots > 0", "{{state}}")],
)

WORKERS = Lines(
    "Who is there?",
    "Workers by the store's knowledge, and by whom Prometheus reaches. They differ: a worker hangs, or its metrics "
    "port is closed. One scheduler leads; a second stands by.",
    [
        Query("koala:workers", "workers"),
        Query('count(up{job="worker"} == 1) or vector(0)', "workers that answer"),
        Query('count(up{job="scheduler"} == 1) or vector(0)', "schedulers that answer"),
        Query("sum(koala_scheduler_active) or vector(0)", "schedulers that lead"),
    ],
    width=8,
)

LEASES = Lines(
    "Who holds what?",
    "One lease for each running attempt or opened profile. `expired` for more than seconds: nobody takes lost attempts "
    "back, look at the scheduler. `stuck`: an attempt that should have ended by itself.",
    [
        Query("koala:leases", "{{state}}"),
        Query("sum(max by (sign) (koala_stuck_attempts))", "stuck"),
    ],
    width=8,
)

QUIET = Lines(
    "Does every attempt move?",
    "How long the quietest running attempt has begun or ended no step. Longer than your longest step: `koala status` "
    "names it, `koala task ID` says what it did last.",
    [Query("koala:attempt_quiet_seconds", "quietest attempt")],
    unit="s",
    width=8,
)

CRASHES = Stack(
    "What crashes?",
    "In ten minutes, by what died under an attempt. `worker`: killed or out of memory (`make logs`). `browser` and "
    "`tab`: often memory too. `no_browser`: it does not start, run `koala doctor` there.",
    [Query("koala:crashes - min_over_time(koala:crashes[10m]) > 0", "{{kind}}")],
)

FAILURES = Stack(
    "Which attempts fail?",
    "In ten minutes, by workflow. One workflow: its site changed, or a login is over (`koala tasks --status "
    "failed`). All of them: look at crashes, at the way out, at the sites.",
    [
        Query(
            f"sum by (workflow, outcome) (koala:attempts{{{FAILED}}} - min_over_time(koala:attempts[10m])) > 0",
            "{{workflow}}: {{outcome}}",
        )
    ],
)

DURATION = Lines(
    "How long does an attempt take?",
    "Mean and the time within which 95 of 100 end, of five minutes, as workers measured it. Both rise: sites or this "
    "machine are slow (load, memory). Only the second: a few tasks hang until a timeout.",
    [
        Query(
            "sum(rate(koala_attempt_duration_seconds_sum[5m]))"
            " / (sum(rate(koala_attempt_duration_seconds_count[5m])) > 0)",
            "mean",
        ),
        Query(
            "histogram_quantile(0.95, sum by (le) (rate(koala_attempt_duration_seconds_bucket[5m]))) > 0",
            "95 of 100",
        ),
    ],
    unit="s",
)

STARTS = Lines(
    "Does a program start again and again?",
    "Starts in ten minutes. A roll-out or a change of scale starts each replica once. `failed in a row`: `koala "
    "status` shows the last exit code, its reason and what to do.",
    [
        Query("koala:starts_lately", "{{program}}"),
        Query("koala:failed_starts_lately > 0", "{{program}}: ended badly"),
        Query("koala:failed_starts_in_a_row > 0", "{{program}}: failed in a row"),
    ],
)

ON_TIME = Lines(
    "Do schedules run on time?",
    "By how much the most overdue one is late; some seconds at a take-over are right. A line that rises: `koala "
    "schedule list` says which one is late or wrong, the scheduler's log why.",
    [Query("koala:schedule_lag_seconds", "late")],
    unit="s",
)

OCCURRENCES = Stack(
    "What becomes of planned runs?",
    "In ten minutes. Only `started` makes a task. `overlap`: an earlier run had not ended. `catch_up` and `window`: "
    "missed, and not made up for. `koala schedule show NAME` has the history.",
    [
        Query(
            "koala:schedule_occurrences - min_over_time(koala:schedule_occurrences[10m]) > 0",
            "{{outcome}}",
        )
    ],
)

LINES: tuple[tuple[Panel, ...], ...] = (
    (STATE, HISTORY, ALERTS),
    (FINISHED, LAST, OLDEST),
    (WHY, AGE),
    (DEPTH, SLOTS),
    (WORKERS, LEASES, QUIET),
    (CRASHES, FAILURES),
    (DURATION, STARTS),
    (ON_TIME, OCCURRENCES),
)

MARKS = {"Alerts": 'ALERTS{alertstate="firing"}'}


def koala() -> Json:
    """The dashboard as Grafana reads it."""
    return dashboard("koala", "Koala", LINES, MARKS)
