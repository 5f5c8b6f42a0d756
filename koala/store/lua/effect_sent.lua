-- The gate: planned | absent -> sent, for one act of one child. The same token again: the same answer, nothing written.
-- KEYS  1 effect  2 timeline  3 lease  4 open  5 task  6 switches  7 epoch
-- ARGV  1 fence  2 task id  3 operation  4 token  5 hash of the description  6 '1' when approval is needed
--       7 facts, JSON: locks k, d, b, machine, boot  8 worker
-- Reply {ok, try} or refusal: stale, token (used up), status, epoch, wanted, attempts, bound, state, restored (not looked at since
--       then), description, paused, approval
-- Invariant: promise 3. Nothing may act on an effect before this has answered ok to the one who made the token.
local now = now_ms()
local effect = redis.call('HMGET', KEYS[1], 'state', 'try', 'task', 'token', 'hash', 'approved:' .. ARGV[5], 'description',
  'doubted')
if not held(KEYS[3], ARGV[1], now) then return refuse('stale') end  -- first of all: an ok that comes late is a licence to act
if effect[4] == ARGV[4] then
  if effect[1] ~= 'sent' then return refuse('token', {state = effect[1]}) end
  return reply({ok = true, try = tonumber(effect[2])})
end
local task = redis.call('HMGET', KEYS[5], 'status', 'fence', 'workflow', 'profile', 'wanted', 'attempts', 'max_attempts',
  'restored')
if task[1] ~= 'running' or task[2] ~= ARGV[1] then return refuse('status', {status = task[1]}) end
if string.match(ARGV[1], '^(%d+)%.') ~= redis.call('GET', KEYS[7]) then return refuse('epoch') end
if task[5] and task[5] ~= '' then return refuse('wanted', {wanted = task[5]}) end
if tonumber(task[6]) >= tonumber(task[7]) then return refuse('attempts') end
if effect[3] ~= ARGV[2] then return refuse('bound', {owner = effect[3]}) end
if effect[1] ~= 'planned' and effect[1] ~= 'absent' then return refuse('state', {state = effect[1]}) end
-- A belt: the look has made `sent` of it already.
if task[8] and effect[8] ~= task[8] and not asks(ARGV[3]) then return refuse('restored') end
if effect[5] ~= ARGV[5] then return refuse('description') end
local switch = paused(KEYS[6], task[3], task[4], ARGV[8])
if switch then return refuse('paused', {switch = switch}) end
if ARGV[6] == '1' and not effect[6] then return refuse('approval') end
local try = redis.call('HINCRBY', KEYS[1], 'try', 1)
local facts = cjson.decode(ARGV[7])
facts.fence, facts.try, facts.sent_ms, facts.worker = ARGV[1], try, now, ARGV[8]
redis.call('HSET', KEYS[1], 'state', 'sent', 'token', ARGV[4], 'sent', cjson.encode(facts))
facts.hash, facts.description = ARGV[5], effect[7]
redis.call('HSET', KEYS[4], ARGV[3], cjson.encode(facts))
note(now, 'effect_sent', {operation = ARGV[3], try = try, fence = ARGV[1]})
return reply({ok = true, try = try})
