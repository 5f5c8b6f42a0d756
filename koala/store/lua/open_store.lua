-- Makes the store's first epoch, or says which one it has.
-- KEYS  1 schema  2 epoch
-- ARGV  1 schema of this program
-- Reply {ok, schema, epoch}
-- Invariant: the epoch of a store that has one is not changed here.
local now = now_ms()
redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('SET', KEYS[2], integer(now), 'NX')
return reply({ok = true, schema = tonumber(redis.call('GET', KEYS[1])), epoch = tonumber(redis.call('GET', KEYS[2]))})
