-- Gives back the lease of a person's command.
-- KEYS  1 lease  2 leases  3 profiles
-- ARGV  1 fence  2 resource  3 profile whose record goes too ('' for none)
-- Reply {ok} or refusal: stale
local now = now_ms()
if not held(KEYS[1], ARGV[1], now) then return refuse('stale') end
if ARGV[3] ~= '' then redis.call('HDEL', KEYS[3], ARGV[3]) end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2])
return reply({ok = true})
