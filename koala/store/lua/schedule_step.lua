-- Carries out one decision about a schedule, and makes the task of one occurrence with it, if nothing has changed since
-- the schedule was read.
-- KEYS  task block of the task to be made; 20 dedupe of the occurrence (the task's own key for a run by hand)
--       21 schedule  22 its history  23 index of all schedules  24 due  25 counts  26 put off; 27.. records of its runs
-- ARGV  1 name  2 turn that was seen  3 epoch that was seen  4 fields of the record, JSON (all values strings)
--       5 status code  6 next look, ms (0: none)  7 history, JSON list of {outcome, planned, to, count, why}
--       8 runs, JSON list of {id, ended}, in the order of their keys
--       9 task, JSON {id, record, due, deadline_after, planned, by_hand, keep_s}, or empty when nothing
--         starts; its deadline counts from when it may start
--       10 the runs then, JSON  11 the runs when the occurrence has a task already, JSON
-- Reply {ok, task, known} or refusal: unknown, moved, early
-- Invariant: an occurrence becomes one task at most, in the same step that records it. A decision holds only for the
-- turn, the epoch and the states of runs that it was made for.
local now = now_ms()
local name, schedule = ARGV[1], KEYS[21]
local got = redis.call('HMGET', schedule, 'turn', 'name')
if not got[2] then return refuse('unknown') end
if got[1] ~= ARGV[2] or redis.call('GET', KEYS[9]) ~= ARGV[3] then return refuse('moved') end
for at, run in ipairs(cjson.decode(ARGV[8])) do
  local status = redis.call('HGET', KEYS[26 + at], 'status')
  if (not status or ENDED[status] or false) ~= run.ended then return refuse('moved') end
end
local start = ARGV[9] ~= '' and cjson.decode(ARGV[9])
if start and start.planned > now then return refuse('early') end

local function tell(outcome, fields)
  redis.call('XADD', KEYS[22], 'MAXLEN', '~', 1000, '*', 'at', integer(now), 'outcome', outcome, 'data', cjson.encode(fields))
end

for field, value in pairs(cjson.decode(ARGV[4])) do redis.call('HSET', schedule, field, value) end
redis.call('HINCRBY', schedule, 'turn', 1)
redis.call('ZADD', KEYS[23], ARGV[5], name)
redis.call('ZREM', KEYS[26], name)
if ARGV[6] == '0' then redis.call('ZREM', KEYS[24], name) else redis.call('ZADD', KEYS[24], ARGV[6], name) end
for _, entry in ipairs(cjson.decode(ARGV[7])) do
  tell(entry.outcome, entry)
  if entry.count then redis.call('HINCRBY', KEYS[25], entry.outcome, entry.count) end
end
if not start then
  redis.call('HSET', schedule, 'runs', ARGV[10])
  return reply({ok = true})
end

local first = not start.by_hand and redis.call('GET', KEYS[20])
if not first and redis.call('EXISTS', KEYS[1]) == 1 then first = start.id end
if first then
  redis.call('HSET', schedule, 'runs', ARGV[11])
  redis.call('HINCRBY', KEYS[25], 'known', 1)
  tell('known', {planned = start.planned, task = first})
  return reply({ok = true, task = first, known = true})
end
if not start.by_hand then redis.call('SET', KEYS[20], start.id, 'EX', integer(start.keep_s)) end
local deadline = start.deadline_after > 0 and math.max(start.due, now) + start.deadline_after or 0
local status = accept(start.id, start.record, start.due, deadline, now)
note(now, 'task_submitted', {status = status, due_ms = start.due, schedule = name, planned_ms = start.planned})
redis.call('HSET', schedule, 'runs', ARGV[10], 'last_ms', integer(now))
redis.call('HINCRBY', KEYS[25], 'started', 1)
tell('started', {planned = start.planned, task = start.id, by_hand = start.by_hand})
return reply({ok = true, task = start.id, known = false})
