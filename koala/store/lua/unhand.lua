-- A handed task whose delivery is lost, or cannot be taken, becomes ready again.
-- KEYS  task block
-- ARGV  1 id  2 job number that was handed (a later hand-over is left alone)  3 why
-- Reply {ok} or refusal: status
local now = now_ms()
local task = redis.call('HMGET', KEYS[1], 'status', 'jobs')
if task[1] ~= 'handed' or task[2] ~= ARGV[2] then return refuse('status', {status = task[1]}) end
move(ARGV[1], 'ready', now)
note(now, 'delivery_lost', {job = ARGV[2], why = ARGV[3]})
return reply({ok = true})
