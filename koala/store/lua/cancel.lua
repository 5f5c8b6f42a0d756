-- A person ends a task; one that runs stops at its next step, one with an open effect ends when that is settled.
-- KEYS  task block; 20 counts  21 counted
-- ARGV  1 id  2 who  3 why
-- Reply {ok, status, waits} or refusal: unknown, status
COUNTS, COUNTED = KEYS[20], KEYS[21]
local now = now_ms()
local status = redis.call('HGET', KEYS[1], 'status')
if not status then return refuse('unknown') end
if status == 'cancelled' then return reply({ok = true, status = status, waits = false}) end
if ENDED[status] then return refuse('status', {status = status}) end
local reason = 'cancelled by ' .. ARGV[2] .. (ARGV[3] ~= '' and (': ' .. ARGV[3]) or '')
if redis.call('HGET', KEYS[1], 'wanted') == 'cancelled' then return reply({ok = true, status = status, waits = true}) end
if status == 'running' or redis.call('HLEN', KEYS[5]) > 0 then
  redis.call('HSET', KEYS[1], 'wanted', 'cancelled', 'wanted_reason', reason)
  note(now, 'end_wanted', {wanted = 'cancelled', why = reason})
  return reply({ok = true, status = status, waits = true})
end
return reply({ok = true, status = settle(ARGV[1], 'cancelled', reason, now), waits = false})
