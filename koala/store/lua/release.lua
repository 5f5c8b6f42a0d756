-- Ends an attempt: where its task goes and the lease, in one step. The same fence again, the same answer.
-- KEYS  task block; 20 lease  21 leases  22 attempts
-- ARGV  1 id  2 fence  3 resource  4 outcome: done failed crashed parked snoozed review cancelled
--       5 details, JSON: reason, result, error, delay_ms, backoff_ms, question,
--       wait: what it waits for, where only its next attempt can find out (`old holder`)
-- Reply {ok, status} or refusal: stale
-- Invariant: promise 2; a task never ends while an effect is `sent`.
local OUTCOMES = {done = 1, failed = 1, crashed = 1, parked = 1, snoozed = 1, review = 1, cancelled = 1}
local id, fence, outcome = ARGV[1], ARGV[2], ARGV[4]
local details = cjson.decode(ARGV[5])
local now = now_ms()
-- A script is not undone when it fails: what could fail is looked at before the first write.
if not OUTCOMES[outcome] then return redis.error_reply('ERR no such outcome: ' .. outcome) end
if outcome == 'review' and not details.question then return redis.error_reply('ERR a review needs its question') end
local before = redis.call('HMGET', KEYS[1], 'released', 'released_as')
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
  local delay = details.delay_ms or 0
  status = settle(id, delay > 0 and 'later' or 'ready', reason, now, now + delay)
else
  status = settle(id, outcome, reason, now)
end
redis.call('HSET', KEYS[1], 'released_as', status)
return reply({ok = true, status = status})
