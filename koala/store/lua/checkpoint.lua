-- Stores a step's result. The first value of a step stays.
-- KEYS  1 task  2 timeline  3 lease  4 checkpoints
-- ARGV  1 fence  2 step  3 value, JSON
-- Reply {ok} or refusal: stale
local now = now_ms()
if not held(KEYS[3], ARGV[1], now) then return refuse('stale') end
if redis.call('HSETNX', KEYS[4], ARGV[2], ARGV[3]) == 1 then
  note(now, 'step_done', {step = ARGV[2], fence = ARGV[1]})
end
return reply({ok = true})
