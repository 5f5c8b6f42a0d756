-- A person starts an ended task again; its checkpoints and its ledger stay.
-- KEYS  task block
-- ARGV  1 id  2 who
-- Reply {ok, status} or refusal: unknown, status
local now = now_ms()
local status = redis.call('HGET', KEYS[1], 'status')
if not status then return refuse('unknown') end
if status == 'done' or not ENDED[status] then return refuse('status', {status = status}) end
redis.call('HSET', KEYS[1], 'attempts', 0, 'crashes', 0, 'wanted', '', 'deadline_ms', 0, 'ended_ms', '', 'error', '')
return reply({ok = true, status = settle(ARGV[1], 'ready', 'started again by ' .. ARGV[2], now)})
