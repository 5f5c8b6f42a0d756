-- What an attempt learned about its profile.
-- KEYS  1 lease  2 profiles
-- ARGV  1 fence  2 profile  3 fields, JSON
-- Reply {ok} or refusal: stale
local now = now_ms()
if not held(KEYS[1], ARGV[1], now) then return refuse('stale') end
local record = cjson.decode(redis.call('HGET', KEYS[2], ARGV[2]) or '{}')
for field, value in pairs(cjson.decode(ARGV[3])) do record[field] = value end
record.fence, record.seen_ms = ARGV[1], now
redis.call('HSET', KEYS[2], ARGV[2], cjson.encode(record))
return reply({ok = true})
