-- The one call with which a step begins: its checkpoint, or whether it may run.
-- KEYS  1 task  2 timeline  3 lease  4 checkpoints  5 switches  6 open
-- ARGV  1 fence  2 step  3 worker
-- Reply {ok, go = saved | go | paused | cancelled, value, switch} or refusal: stale
-- A task that is wanted to end goes on as long as it has an open effect: it has to get there to settle it.
local now = now_ms()
if not held(KEYS[3], ARGV[1], now) then return refuse('stale') end
local saved = redis.call('HGET', KEYS[4], ARGV[2])
if saved then return reply({ok = true, go = 'saved', value = saved}) end
local task = redis.call('HMGET', KEYS[1], 'wanted', 'workflow', 'profile', 'wanted_reason')
if task[1] and task[1] ~= '' and redis.call('HLEN', KEYS[6]) == 0 then
  return reply({ok = true, go = 'cancelled', value = task[4]})
end
local switch = paused(KEYS[5], task[2], task[3], ARGV[3])
if switch then return reply({ok = true, go = 'paused', switch = switch}) end
note(now, 'step_started', {step = ARGV[2], fence = ARGV[1]})
return reply({ok = true, go = 'go'})
