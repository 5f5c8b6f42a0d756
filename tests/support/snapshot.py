"""All records of the store at one instant."""

from __future__ import annotations

import json

from koala import keys
from koala.store import Store

LOOK = """
local function hash(key)
  local flat, found = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  return found
end
local function scores(key)
  local flat, found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  return found
end
local seen = {hashes = {}, zsets = {}}
for _, key in ipairs(redis.call('KEYS', 'koala:*')) do
  local kind = redis.call('TYPE', key).ok
  if kind == 'hash' then seen.hashes[key] = hash(key) end
  if kind == 'zset' then seen.zsets[key] = scores(key) end
end
local time = redis.call('TIME')
seen.now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
return cjson.encode(seen)"""


class Snapshot:
    """All records at one instant."""

    def __init__(self, store: Store) -> None:
        seen = json.loads(str(store.client.eval(LOOK, 0)))
        self.now: int = seen["now"]
        self._hashes: dict[str, dict[str, str]] = seen["hashes"] or {}
        self._zsets: dict[str, dict[str, str]] = seen["zsets"] or {}
        self.tasks = self.below(keys.TASK)
        self.effects = self.below("koala:effect:")
        self.leases = {
            resource: lease
            for resource, lease in self.below("koala:lease:").items()
            if int(lease["expires_ms"]) > self.now
        }

    def below(self, prefix: str) -> dict[str, dict[str, str]]:
        """The hashes of a kind, by what comes behind its prefix."""
        return {key[len(prefix) :]: value for key, value in self._hashes.items() if key.startswith(prefix)}

    def zset(self, key: str) -> dict[str, float]:
        """Members and scores."""
        return {member: float(score) for member, score in (self._zsets.get(key) or {}).items()}

    def hash(self, key: str) -> dict[str, str]:
        """One hash, empty when it is not there."""
        return self._hashes.get(key) or {}

    def open(self, task: str) -> set[str]:
        """The operations of a task that are `sent`, as its own list says."""
        return set(self.hash(keys.open_effects(task)))

    # What holds at every instant

    def agrees(self, made: list[str]) -> None:
        """Raise AssertionError where two records say different things; `made` are the ids of all tasks."""
        indexes = {status: set(self.zset(keys.index(status))) for status in keys.STATUSES}
        for id_, task in self.tasks.items():
            assert [status for status, ids in indexes.items() if id_ in ids] == [task["status"]]
        assert set().union(*indexes.values()) == set(self.tasks) == set(made)
        self.lanes_agree()
        self.leases_agree()
        self.effects_agree()
        self.questions_agree()

    def lanes_agree(self) -> None:
        ready: dict[str, dict[str, dict[str, str]]] = {}
        for id_, task in self.tasks.items():
            if task["status"] == "ready":
                ready.setdefault(task["lane"], {})[id_] = task
        lanes = self.zset(keys.LANES)
        assert set(lanes) == set(ready)
        for lane, members in ready.items():
            assert set(self.zset(keys.lane(lane))) == set(members)
            best = max(int(task["priority"]) for task in members.values())
            assert lanes[lane] // 1e14 == 9 - best, "a lane stands where its best task puts it"

    def leases_agree(self) -> None:
        """Promise 1: by profile, and each for a task that runs under it."""
        scores = {name for name, expires in self.zset(keys.LEASES).items() if expires > self.now}
        assert scores == set(self.leases)
        for resource, lease in self.leases.items():
            task = self.tasks[lease["task"]]
            assert (task["status"], task["fence"]) == ("running", lease["fence"])
            assert resource == keys.resource(lease["task"], task["profile"])
        assert len({lease["slot"] for lease in self.leases.values()}) == len(self.leases)

    def effects_agree(self) -> None:
        sent: dict[str, set[str]] = {}
        for operation, effect in self.effects.items():
            if effect.get("state") == "sent":
                sent.setdefault(effect["task"], set()).add(operation)
        for id_, task in self.tasks.items():
            open_ = self.open(id_)
            assert open_ == sent.get(id_, set())
            if task["status"] in keys.ENDED:
                assert not open_, "no ended task has an open effect"
                assert not task["wanted"]
            if task["wanted"]:
                assert task["status"] == "running" or open_, "an end that is wanted is not forgotten"

    def questions_agree(self) -> None:
        open_ = {
            id_: question
            for id_, text in self.hash(keys.QUESTIONS).items()
            if id_ != "last" and (question := json.loads(text))["state"] == "open"
        }
        assert set(self.zset(keys.ASKED)) == set(open_)
        waiting = {task["question"]: id_ for id_, task in self.tasks.items() if task["status"] == "review"}
        assert {id_: question["task"] for id_, question in open_.items()} == waiting
        assert not any(task["question"] for task in self.tasks.values() if task["status"] != "review")
        deadlines = self.zset(keys.DEADLINES)
        for id_ in deadlines:
            task = self.tasks[id_]
            assert task["status"] not in keys.ENDED
            assert int(task["deadline_ms"]) > 0
