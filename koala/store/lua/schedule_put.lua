-- Makes a schedule, off, or gives one another definition. A changed one looks at nothing that was planned before now.
-- KEYS  1 schedule  2 its history  3 index of all schedules  4 due  5 counts  6 epoch
-- ARGV  1 name  2 definition, JSON  3 turn that was seen (0: there was none)  4 code of `off`  5 code of `on`
--       6 who  7 history of what the change leaves out, JSON list of {outcome, planned, to, count}
-- Reply {ok, created, changed, revision} or refusal: moved
-- Invariant: the same definition again changes nothing.
local now = now_ms()
local got = redis.call('HMGET', KEYS[1], 'definition', 'turn', 'status', 'revision')
if got[1] == ARGV[2] then return reply({ok = true, created = false, changed = false, revision = tonumber(got[4])}) end
if (got[2] or '0') ~= ARGV[3] then return refuse('moved') end
local epoch = redis.call('GET', KEYS[6])
redis.call('HSET', KEYS[1], 'definition', ARGV[2], 'cursor_ms', integer(now), 'epoch', epoch)
redis.call('HINCRBY', KEYS[1], 'turn', 1)
local revision = redis.call('HINCRBY', KEYS[1], 'revision', 1)
local told = {outcome = 'changed', revision = revision, by = ARGV[6]}
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 'at', integer(now), 'outcome', 'changed', 'data', cjson.encode(told))
for _, entry in ipairs(cjson.decode(ARGV[7])) do
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 'at', integer(now), 'outcome', entry.outcome, 'data', cjson.encode(entry))
  redis.call('HINCRBY', KEYS[5], entry.outcome, entry.count)
end
if not got[1] then
  redis.call('HSET', KEYS[1], 'name', ARGV[1], 'status', 'off', 'by', ARGV[6], 'since_ms', integer(now))
  redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
elseif got[3] == 'on' or got[3] == 'over' then  -- what it plans now is looked at by whoever schedules
  redis.call('HSET', KEYS[1], 'status', 'on', 'next_ms', integer(now))
  redis.call('ZADD', KEYS[3], ARGV[5], ARGV[1])
  redis.call('ZADD', KEYS[4], integer(now), ARGV[1])
end
return reply({ok = true, created = not got[1], changed = true, revision = revision})
