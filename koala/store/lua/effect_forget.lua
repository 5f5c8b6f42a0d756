-- Removes a ledger record whose retention is over; its effect is allowed again after that.
-- KEYS  1 effect  2 effects by time  3 record of the task it is bound to
-- ARGV  1 operation  2 the task the caller saw it bound to  3 last touched before, ms
-- Reply {ok} or refusal: moved, sent, task, early
-- Invariant: promise 3, a record that is `sent`, or whose task can still act, stays.
local effect = redis.call('HMGET', KEYS[1], 'task', 'state', 'settled_ms')
if effect[1] and effect[1] ~= ARGV[2] then return refuse('moved') end
if effect[2] == 'sent' then return refuse('sent') end
local status = redis.call('HGET', KEYS[3], 'status')
if status and not ENDED[status] then return refuse('task', {status = status}) end
if effect[3] and tonumber(effect[3]) >= tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[2], 'XX', effect[3], ARGV[1])
  return refuse('early')
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return reply({ok = true})
