-- Begins the epoch of a restored store and shuts it: no lease is given until the restore is complete. Voids leases.
-- KEYS  1 epoch  2 hold-until  3 restored  4 leases  5 slots  6 leader  7... the leases themselves
-- ARGV  1 new epoch, larger than any ever used  2 who  3 facts, JSON: because, backup, machine, machines, word
--       4 for how long a key that the ledger does not know is in doubt, ms  5... the resources of these leases
-- Reply {ok, epoch, now_ms} or refusal: epoch (the store's own, which is not smaller)
-- Invariant: an epoch is never used twice. One that was begun and is not complete is begun anew, with a larger one.
local SHUT = 9e15  -- until restore_finish opens it
local now = now_ms()
local epoch = tonumber(redis.call('GET', KEYS[1]) or 0)
local before = redis.call('HMGET', KEYS[3], 'epoch', 'state')
local again = before[1] == ARGV[1] and before[2] == 'begun'  -- this very call: leases may have come in between
if not again and tonumber(ARGV[1]) <= epoch then return refuse('epoch', {epoch = epoch}) end
redis.call('SET', KEYS[2], integer(SHUT))
redis.call('SET', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[3], 'epoch', ARGV[1], 'state', 'begun', 'at_ms', integer(now), 'by', ARGV[2], 'facts', ARGV[3],
  'doubt_until_ms', integer(now + tonumber(ARGV[4])))
for i = 7, #KEYS do
  redis.call('DEL', KEYS[i])
  redis.call('ZREM', KEYS[4], ARGV[i - 2])
end
redis.call('DEL', KEYS[5], KEYS[6])  -- of workers and schedulers that were there at the time of the backup
return reply({ok = true, epoch = ARGV[1], now_ms = now})
