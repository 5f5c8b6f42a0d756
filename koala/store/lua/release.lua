-- Ends an attempt: where its task goes and the lease, in one step. The same fence again, the same answer.
-- KEYS  task block; 20 lease  21 leases  22 attempts  23 counts  24 counted
-- ARGV  1 id  2 fence  3 resource  4 outcome: done failed crashed parked snoozed review cancelled
--       5 details, JSON: reason, result, error, delay_ms, backoff_ms, question,
--       final: true when no further attempt is to be made,
--       wait: what it waits for, where only its next attempt can find out (`old holder`); delay_ms then doubles with
--       each try that ended in the same wait, up to delay_most_ms,
--       crash: what died or did not start, a kind that is counted
-- Reply {ok, status} or refusal: stale
-- Invariant: promise 2; a task never ends while an effect is `sent`; an attempt is counted once.
COUNTS, COUNTED = KEYS[23], KEYS[24]
-- What a try writes that ends in the same wait again. Instead of these lines one counts the tries: the timeline has a length.
local FRUITLESS = {task_ready = 1, task_handed = 1, attempt_started = 1, takeover_started = 1, takeover_proof = 1,
  attempt_ended = 1, task_later = 1, still_waits = 1}

-- The task waits once more for what only its next attempt can find out: how long until then, in ms, doubling.
local function patience(details)
  local waited = redis.call('HMGET', KEYS[1], 'waited', 'waited_times')
  local times = waited[1] == details.wait and tonumber(waited[2]) + 1 or 1
  redis.call('HSET', KEYS[1], 'waited', details.wait, 'waited_times', times)
  local first = details.delay_ms or 0
  return math.floor(math.min(first * 2 ^ (times - 1), math.max(first, details.delay_most_ms or 0))), times
end

-- After the first try the timeline is left as it is; after each other one, the last says how many there were.
local function abridge(times, why, now)
  if times == 1 then
    redis.call('HSET', KEYS[1], 'waited_line', redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1][1])
    return
  end
  for _, line in ipairs(redis.call('XRANGE', KEYS[2], '(' .. redis.call('HGET', KEYS[1], 'waited_line'), '+')) do
    if FRUITLESS[line[2][4]] then redis.call('XDEL', KEYS[2], line[1]) end
  end
  note(now, 'still_waits', {why = why, times = times})
end

local OUTCOMES = {done = 1, failed = 1, crashed = 1, parked = 1, snoozed = 1, review = 1, cancelled = 1}
local id, fence, outcome = ARGV[1], ARGV[2], ARGV[4]
local details = cjson.decode(ARGV[5])
local now = now_ms()
-- A script is not undone when it fails: what could fail is looked at before the first write.
if not OUTCOMES[outcome] then return redis.error_reply('ERR no such outcome: ' .. outcome) end
if outcome == 'review' and not details.question then return redis.error_reply('ERR a review needs its question') end
local before = redis.call('HMGET', KEYS[1], 'released', 'released_as', 'workflow')
if before[1] == fence then return reply({ok = true, status = before[2]}) end
if not held(KEYS[20], fence, now) then return refuse('stale') end
local reason = details.reason or outcome
redis.call('DEL', KEYS[20])
redis.call('ZREM', KEYS[21], ARGV[3])
redis.call('HSET', KEYS[1], 'released', fence, 'waits', details.wait or '')
local attempt = cjson.decode(redis.call('HGET', KEYS[22], fence) or '{}')
attempt.ended_ms, attempt.outcome, attempt.reason = now, outcome, reason
redis.call('HSET', KEYS[22], fence, cjson.encode(attempt))
note(now, 'attempt_ended', {fence = fence, outcome = outcome, why = reason})
count(now, 'attempt', before[3] or 'other', outcome)
if details.crash then count(now, 'crash', details.crash) end
if not details.wait then redis.call('HDEL', KEYS[1], 'waited', 'waited_times', 'waited_line') end
if details.result then redis.call('HSET', KEYS[1], 'result', details.result) end
if details.error then redis.call('HSET', KEYS[1], 'error', details.error) end
local status
if outcome == 'crashed' then
  status = crashed(id, reason, now, true)
elseif outcome == 'review' then
  local wanted = redis.call('HGET', KEYS[1], 'wanted')
  if wanted and wanted ~= '' and redis.call('HLEN', KEYS[5]) == 0 then
    status = settle(id, 'ready', reason, now)  -- it ends as wanted: nothing is left to ask about
  else
    ask(id, details.question, now)
    move(id, 'review', now)
    redis.call('HSET', KEYS[1], 'reason', reason)
    status = 'review'
  end
elseif outcome == 'failed' then
  local attempts = redis.call('HINCRBY', KEYS[1], 'attempts', 1)
  local most = tonumber(redis.call('HGET', KEYS[1], 'max_attempts'))
  if details.final and attempts < most then  -- it has spent them all
    attempts = most
    redis.call('HSET', KEYS[1], 'attempts', attempts)
  end
  local settles = redis.call('HLEN', KEYS[5]) > 0 and attempts == most  -- one more, to settle what is open; the gate is shut
  if attempts < most or settles then
    status = settle(id, 'later', reason, now, now + (details.backoff_ms or 0))
  elseif redis.call('HLEN', KEYS[5]) == 0 then
    status = settle(id, 'failed', reason, now)
  else
    redis.call('HSET', KEYS[1], 'wanted', 'failed', 'wanted_reason', reason)
    status = ask_about_open(id, reason, now)
  end
elseif outcome == 'parked' or outcome == 'snoozed' then
  local delay, times = details.delay_ms or 0, 0
  if details.wait then delay, times = patience(details) end
  status = settle(id, delay > 0 and 'later' or 'ready', reason, now, now + delay)
  if times > 0 and not ENDED[status] then abridge(times, reason, now) end
else
  status = settle(id, outcome, reason, now)
end
redis.call('HSET', KEYS[1], 'released_as', status)
return reply({ok = true, status = status})
