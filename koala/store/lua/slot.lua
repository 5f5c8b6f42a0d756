-- A slot's heartbeat: it is there until `ttl` from now by the store's clock, and says what it can run.
-- KEYS  1 slot  2 slots  3 class
-- ARGV  1 slot id  2 ttl in ms (0: it leaves)  3 fields, JSON  4 what the class runs, JSON list of workflow@version
-- Reply {ok, now_ms}
local DAY = 86400000  -- what is left of a slot, or a class, that died is kept as long
local now = now_ms()
if tonumber(ARGV[2]) == 0 then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  return reply({ok = true, now_ms = now})
end
for field, value in pairs(cjson.decode(ARGV[3])) do redis.call('HSET', KEYS[1], field, value) end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'seen_ms', integer(now))
redis.call('PEXPIRE', KEYS[1], DAY)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', integer(now - DAY))
redis.call('ZADD', KEYS[2], integer(now + tonumber(ARGV[2])), ARGV[1])
for _, item in ipairs(cjson.decode(ARGV[4])) do redis.call('SADD', KEYS[3], item) end
redis.call('PEXPIRE', KEYS[3], DAY)
return reply({ok = true, now_ms = now})
