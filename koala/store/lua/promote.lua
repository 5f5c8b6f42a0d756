-- A task that was due later becomes ready.
-- KEYS  task block
-- ARGV  1 id
-- Reply {ok} or refusal: status, early
local now = now_ms()
local task = redis.call('HMGET', KEYS[1], 'status', 'due_ms')
if task[1] ~= 'later' then return refuse('status', {status = task[1]}) end
if tonumber(task[2]) > now then return refuse('early') end
move(ARGV[1], 'ready', now)
return reply({ok = true})
