-- sent -> happened | absent, by the attempt that holds the lease. The same settlement again changes nothing.
-- KEYS  1 effect  2 timeline  3 lease  4 open
-- ARGV  1 fence  2 operation  3 try  4 token ('' for a takeover's confirm)  5 happened | absent
--       6 '1' when everyone who could act is proved gone, the site has settled, and the look began after that
--       7 receipt, JSON  8 how (receipt, confirm)
-- Reply {ok} or refusal: stale, bound, state, try, token, quiet
-- Invariant: promise 3. Absent needs quiet and no token; happened by receipt needs the token of the act.
local now = now_ms()
if not held(KEYS[3], ARGV[1], now) then return refuse('stale') end
local effect = redis.call('HMGET', KEYS[1], 'state', 'try', 'token', 'settled_by', 'task')
if effect[5] ~= redis.call('HGET', KEYS[3], 'task') then return refuse('bound', {owner = effect[5]}) end
if effect[1] == ARGV[5] and effect[2] == ARGV[3] and effect[4] == ARGV[1] then return reply({ok = true}) end
if effect[1] ~= 'sent' then return refuse('state', {state = effect[1]}) end
if effect[2] ~= ARGV[3] then return refuse('try', {try = effect[2]}) end
if ARGV[4] ~= '' and effect[3] ~= ARGV[4] then return refuse('token') end
if ARGV[5] == 'absent' and (ARGV[6] ~= '1' or ARGV[4] ~= '') then return refuse('quiet') end
redis.call('HSET', KEYS[1], 'state', ARGV[5], 'settled_by', ARGV[1], 'settled_ms', integer(now), 'how', ARGV[8])
if ARGV[5] == 'happened' then redis.call('HSET', KEYS[1], 'receipt', ARGV[7] ~= '' and ARGV[7] or 'null') end
redis.call('HDEL', KEYS[4], ARGV[2])
note(now, 'effect_' .. ARGV[5], {operation = ARGV[2], try = tonumber(ARGV[3]), how = ARGV[8], fence = ARGV[1]})
return reply({ok = true})
