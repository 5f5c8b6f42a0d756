-- Gives the lease on a profile to a person's command, which has no task; the same token again, the same answer.
-- KEYS  1 lease  2 leases  3 fence counter  4 hold-until  5 epoch  6 the longest lease there ever was, ms
-- ARGV  1 token  2 ttl in ms  3 resource  4 who
-- Reply {ok, fence, expires_ms, now_ms} or refusal: held (fence, task, worker), hold, epoch
-- Invariant: promise 1, at most one unexpired lease a resource; the counter never goes back.
local now = now_ms()
local lease = redis.call('HMGET', KEYS[1], 'token', 'fence', 'expires_ms', 'task', 'worker')
if lease[3] and tonumber(lease[3]) > now then
  if lease[1] == ARGV[1] then
    return reply({ok = true, fence = lease[2], expires_ms = tonumber(lease[3]), now_ms = now})
  end
  return refuse('held', {fence = lease[2], task = lease[4] or '', worker = lease[5] or ''})
end
if now < tonumber(redis.call('GET', KEYS[4]) or 0) then return refuse('hold') end
local epoch = redis.call('GET', KEYS[5])
if not epoch then return refuse('epoch') end
local fence = epoch .. '.' .. redis.call('INCR', KEYS[3])
local expires = now + tonumber(ARGV[2])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'fence', fence, 'task', '', 'token', ARGV[1], 'expires_ms', integer(expires),
  'slot', '', 'worker', ARGV[4], 'since_ms', integer(now))
redis.call('ZADD', KEYS[2], integer(expires), ARGV[3])
longer(KEYS[6], ARGV[2])
return reply({ok = true, fence = fence, expires_ms = expires, now_ms = now})
