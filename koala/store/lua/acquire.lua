-- Gives the lease on a task's profile (or on the task) to one attempt and starts it; the same token again, the same answer.
-- KEYS  task block; 20 lease  21 leases  22 attempts  23 fence counter  24 switches  25 hold-until
--       26 the longest lease there ever was, ms
-- ARGV  1 id  2 token  3 ttl in ms  4 resource  5 slot  6 worker  7 facts of the attempt, JSON
--       8 and 9 epoch and counter of the highest fence that the asker has ever seen
--       10 the switch that is on while the pool has gone back to the asker's image
-- Reply {ok, fence, expires_ms, now_ms, rolls_back: that switch is on} or
--       refusal: status, held, paused, epoch, hold, went_back {fence}
-- Invariant: promise 1, at most one unexpired lease a resource; the counter never goes back, and does not move while it
--       is lower than one that was seen: were it to pass that, nobody would notice any more that the store went back.
local id, token = ARGV[1], ARGV[2]
local now = now_ms()
local function granted(fence, expires)
  local back = redis.call('HEXISTS', KEYS[24], ARGV[10]) == 1
  return reply({ok = true, fence = fence, expires_ms = expires, now_ms = now, rolls_back = back})
end
local lease = redis.call('HMGET', KEYS[20], 'token', 'fence', 'expires_ms')
if lease[1] == token and tonumber(lease[3]) > now then return granted(lease[2], tonumber(lease[3])) end
local task = redis.call('HMGET', KEYS[1], 'status', 'workflow', 'profile')
if task[1] ~= 'ready' and task[1] ~= 'handed' then return refuse('status', {status = task[1]}) end
if lease[3] and tonumber(lease[3]) > now then return refuse('held', {fence = lease[2]}) end
local switch = paused(KEYS[24], task[2], task[3], ARGV[6])
if switch then return refuse('paused', {switch = switch}) end
if now < tonumber(redis.call('GET', KEYS[25]) or 0) then return refuse('hold') end
local epoch = redis.call('GET', KEYS[9])
if not epoch then return refuse('epoch') end
local given = tonumber(redis.call('GET', KEYS[23]) or 0)
if tonumber(epoch) < tonumber(ARGV[8]) or (tonumber(epoch) == tonumber(ARGV[8]) and given < tonumber(ARGV[9])) then
  return refuse('went_back', {fence = epoch .. '.' .. integer(given)})
end
local fence = epoch .. '.' .. redis.call('INCR', KEYS[23])
local expires = now + tonumber(ARGV[3])
redis.call('DEL', KEYS[20])
redis.call('HSET', KEYS[20], 'fence', fence, 'task', id, 'token', token, 'expires_ms', integer(expires),
  'slot', ARGV[5], 'worker', ARGV[6], 'since_ms', integer(now))
redis.call('ZADD', KEYS[21], integer(expires), ARGV[4])
longer(KEYS[26], ARGV[3])
local facts = cjson.decode(ARGV[7])
facts.fence, facts.slot, facts.worker, facts.started_ms = fence, ARGV[5], ARGV[6], now
redis.call('HSET', KEYS[22], fence, cjson.encode(facts))
move(id, 'running', now)
redis.call('HSET', KEYS[1], 'fence', fence, 'reason', '', 'waits', '')
note(now, 'attempt_started', {fence = fence, worker = ARGV[6], slot = ARGV[5]})
return granted(fence, expires)
