-- A running task whose lease has ended goes back to where it can run again.
-- KEYS  task block; 20 lease  21 leases  22 attempts  23 counts of the image that ran it  24 counted
-- ARGV  1 id  2 resource  3 '1' when this counts as a crash (not when the store itself was away)
--       4 fence of the attempt that is lost
-- Reply {ok, status, fence} or refusal: status, held, moved (another attempt runs by now)
COUNTS, COUNTED = KEYS[23], KEYS[24]
local id = ARGV[1]
local now = now_ms()
local task = redis.call('HMGET', KEYS[1], 'status', 'fence', 'workflow')
if task[1] ~= 'running' then return refuse('status', {status = task[1]}) end
if task[2] ~= ARGV[4] then return refuse('moved') end
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
count(now, 'attempt', task[3] or 'other', 'lost')
if ARGV[3] == '1' then count(now, 'crash', 'worker') end
return reply({ok = true, fence = task[2], status = crashed(id, why, now, ARGV[3] == '1')})
