-- A running task whose lease has ended goes back to where it can run again.
-- KEYS  task block; 20 lease  21 leases  22 attempts
-- ARGV  1 id  2 resource  3 '1' when this counts as a crash (not when the store itself was away)
-- Reply {ok, status, fence} or refusal: status, held
local id = ARGV[1]
local now = now_ms()
local task = redis.call('HMGET', KEYS[1], 'status', 'fence')
if task[1] ~= 'running' then return refuse('status', {status = task[1]}) end
if held(KEYS[20], task[2], now) then return refuse('held') end
if redis.call('HGET', KEYS[20], 'task') == id then
  redis.call('DEL', KEYS[20])
  redis.call('ZREM', KEYS[21], ARGV[2])
end
local why = ARGV[3] == '1' and 'its worker was lost' or 'the store was away'
local attempt = cjson.decode(redis.call('HGET', KEYS[22], task[2]) or '{}')
attempt.ended_ms, attempt.outcome, attempt.reason = now, 'lost', why
redis.call('HSET', KEYS[22], task[2], cjson.encode(attempt))
note(now, 'attempt_lost', {fence = task[2], why = why})
return reply({ok = true, fence = task[2], status = crashed(id, why, now, ARGV[3] == '1')})
