-- Removes an ended task whose retention is over, with its questions. Its ledger records stay.
-- KEYS  task block; 20 checkpoints  21 attempts  22 gone  23 task's effects
-- ARGV  1 id  2 ended before, ms
-- Reply {ok} or refusal: status, early
local task = redis.call('HMGET', KEYS[1], 'status', 'ended_ms')
if not task[1] or not ENDED[task[1]] then return refuse('status', {status = task[1]}) end
if tonumber(task[2]) >= tonumber(ARGV[2]) then return refuse('early') end
redis.call('ZREM', index_key(task[1]), ARGV[1])
for question in string.gmatch(redis.call('HGET', KEYS[1], 'asked') or '', '%S+') do redis.call('HDEL', KEYS[7], question) end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[5], KEYS[20], KEYS[21], KEYS[22], KEYS[23])
return reply({ok = true})
