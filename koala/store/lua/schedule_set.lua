-- A person turns a schedule on, off, or holds it. Turned on it looks at nothing that was planned before now.
-- KEYS  1 schedule  2 its history  3 index of all schedules  4 due  5 counts  6 epoch
-- ARGV  1 name  2 turn that was seen  3 status (on, off, paused)  4 its code  5 note  6 who
--       7 history of what is left out, JSON list of {outcome, planned, to, count}  8 '1': what waits is dropped
-- Reply {ok} or refusal: unknown, moved
local now = now_ms()
local turn = redis.call('HGET', KEYS[1], 'turn')
if not turn then return refuse('unknown') end
if turn ~= ARGV[2] then return refuse('moved') end
redis.call('HSET', KEYS[1], 'status', ARGV[3], 'note', ARGV[5], 'by', ARGV[6], 'since_ms', integer(now))
redis.call('HINCRBY', KEYS[1], 'turn', 1)
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
local told = {outcome = ARGV[3], by = ARGV[6], why = ARGV[5]}
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 'at', integer(now), 'outcome', ARGV[3], 'data', cjson.encode(told))
for _, entry in ipairs(cjson.decode(ARGV[7])) do
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 'at', integer(now), 'outcome', entry.outcome, 'data', cjson.encode(entry))
  redis.call('HINCRBY', KEYS[5], entry.outcome, entry.count)
end
if ARGV[8] == '1' then redis.call('HSET', KEYS[1], 'waiting', '[]') end
if ARGV[3] == 'on' then
  redis.call('HSET', KEYS[1], 'cursor_ms', integer(now), 'epoch', redis.call('GET', KEYS[6]), 'failures', 0,
    'next_ms', integer(now))
  redis.call('ZADD', KEYS[4], integer(now), ARGV[1])
else
  redis.call('HSET', KEYS[1], 'next_ms', 0)
  redis.call('ZREM', KEYS[4], ARGV[1])
end
return reply({ok = true})
