-- A word of the running attempt in its task's timeline, with optional fields of the record (progress).
-- KEYS  1 task  2 timeline  3 lease
-- ARGV  1 fence  2 action  3 data, JSON  4 record fields, JSON (of them only `progress` is an attempt's to write)
-- Reply {ok} or refusal: stale
local now = now_ms()
if not held(KEYS[3], ARGV[1], now) then return refuse('stale') end
local progress = cjson.decode(ARGV[4]).progress
if progress then redis.call('HSET', KEYS[1], 'progress', progress) end
if ARGV[2] ~= '' then
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', 2000, '*', 'at', integer(now), 'action', ARGV[2], 'data', ARGV[3])
end
return reply({ok = true})
