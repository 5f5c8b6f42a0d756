-- A task past its deadline ends as expired, or wants to, when it runs or has an open effect.
-- KEYS  task block; 20 counts  21 counted
-- ARGV  1 id
-- Reply {ok, status} or refusal: status, early
COUNTS, COUNTED = KEYS[20], KEYS[21]
local now = now_ms()
local task = redis.call('HMGET', KEYS[1], 'status', 'deadline_ms')
if not task[1] or ENDED[task[1]] then
  redis.call('ZREM', KEYS[6], ARGV[1])
  return refuse('status', {status = task[1]})
end
if tonumber(task[2]) == 0 or tonumber(task[2]) > now then return refuse('early') end
redis.call('ZREM', KEYS[6], ARGV[1])
if task[1] == 'running' or redis.call('HLEN', KEYS[5]) > 0 then
  local wanted = redis.call('HGET', KEYS[1], 'wanted')
  if wanted and wanted ~= '' then return reply({ok = true, status = task[1]}) end  -- it ends already; the first reason stays
  redis.call('HSET', KEYS[1], 'wanted', 'expired', 'wanted_reason', 'its deadline passed')
  note(now, 'end_wanted', {wanted = 'expired', why = 'its deadline passed'})
  return reply({ok = true, status = task[1]})
end
return reply({ok = true, status = settle(ARGV[1], 'expired', 'its deadline passed', now)})
