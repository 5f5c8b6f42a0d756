-- Lengthens a lease that is still held. An expired lease is never revived.
-- KEYS  1 lease  2 leases
-- ARGV  1 fence  2 ttl in ms  3 resource
-- Reply {ok, expires_ms} or refusal: stale
local now = now_ms()
if not held(KEYS[1], ARGV[1], now) then return refuse('stale') end
local expires = now + tonumber(ARGV[2])
redis.call('HSET', KEYS[1], 'expires_ms', integer(expires))
redis.call('ZADD', KEYS[2], integer(expires), ARGV[3])
return reply({ok = true, expires_ms = expires})
