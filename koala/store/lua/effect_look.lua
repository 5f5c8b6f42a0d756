-- What the ledger knows of an effect; makes the record `planned` and binds its key to this task when it is free.
-- KEYS  1 effect  2 timeline  3 task's effects  4 effects by time  5 lease  6 record of the task the key is bound to
--       (own when none)  7 own task  8 open  9 restored
-- ARGV  1 fence  2 task id  3 operation  4 hash of the description  5 description, JSON
--       6 the task the caller saw the key bound to ('' for none)  7 '1' when the key is the task's own id
-- Reply {ok, state, try, mine, owner, receipt, approved, rejected, sent} or refusal: stale, moved
-- Invariant: a key belongs to one task; it passes on only when that task has ended without the effect having happened.
-- After a restore the first look at any effect of a task of the backup finds it `sent`, also one that was never
-- planned; for a while also an effect of a new task whose key a task that the restore took away may have had.
local now = now_ms()
if not held(KEYS[5], ARGV[1], now) then return refuse('stale') end
local owner = redis.call('HGET', KEYS[1], 'task') or ''
if owner ~= ARGV[6] then return refuse('moved', {owner = owner}) end
local state = redis.call('HGET', KEYS[1], 'state') or 'planned'
if owner ~= '' and owner ~= ARGV[2] and state ~= 'happened' then
  local status = redis.call('HGET', KEYS[6], 'status')
  if state ~= 'sent' and (not status or ENDED[status]) then owner = '' end
end
if owner == '' then
  redis.call('HSET', KEYS[1], 'task', ARGV[2], 'state', state)
  redis.call('HSETNX', KEYS[1], 'try', 0)
  redis.call('SADD', KEYS[3], ARGV[3])
  redis.call('ZADD', KEYS[4], 'NX', integer(now), ARGV[3])
  owner = ARGV[2]
end
local mine = owner == ARGV[2]
if mine and (state == 'planned' or state == 'absent') then
  redis.call('HSET', KEYS[1], 'hash', ARGV[4], 'description', ARGV[5])
  local restored = redis.call('HMGET', KEYS[9], 'epoch', 'doubt_until_ms')
  local old = restored[1] and redis.call('HGET', KEYS[7], 'restored') == restored[1]
  local again = restored[1] and ARGV[7] ~= '1' and now < tonumber(restored[2])
  if (old or again) and not asks(ARGV[3]) and redis.call('HGET', KEYS[1], 'doubted') ~= restored[1] then
    local try = doubt(KEYS[1], KEYS[8], ARGV[3], restored[1], now)
    state = 'sent'
    note(now, 'effect_doubted', {operation = ARGV[3], try = try, epoch = restored[1]})
  end
end
local got = redis.call('HMGET', KEYS[1], 'try', 'receipt', 'approved:' .. ARGV[4], 'rejected:' .. ARGV[4], 'sent')
return reply({ok = true, state = state, mine = mine, owner = owner, try = tonumber(got[1] or 0), receipt = got[2],
  approved = got[3], rejected = got[4], sent = got[5]})
