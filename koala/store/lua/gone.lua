-- The write-once word that every process of an attempt is gone. The one unfenced write.
-- KEYS  1 gone of the task  2 timeline  3 attempts
-- ARGV  1 fence  2 by whom  3 because
-- Reply {ok, first} or refusal: unknown
local now = now_ms()
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 0 then return refuse('unknown') end
local first = redis.call('HSETNX', KEYS[1], ARGV[1], cjson.encode({by = ARGV[2], because = ARGV[3], at_ms = now}))
if first == 1 then note(now, 'attempt_gone', {fence = ARGV[1], by = ARGV[2], because = ARGV[3]}) end
return reply({ok = true, first = first == 1})
