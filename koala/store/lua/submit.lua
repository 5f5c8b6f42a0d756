-- Accepts a task; the same id again changes nothing, a known dedupe key answers with its first task.
-- KEYS  task block; 20 dedupe (or the task's own key when there is none)
-- ARGV  1 id  2 record as JSON (all values strings)  3 due_ms (0: now)  4 deadline_ms (0: none)  5 '1' when a dedupe key is given
--       6 how long the dedupe key is kept, s
-- Reply {ok, id, status, existing}
-- Invariant: a task that was answered for is in exactly one index.
local id, due, deadline = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local now = now_ms()
if ARGV[5] == '1' then
  local first = redis.call('GET', KEYS[20])  -- also of a task that retention has removed
  if first then return reply({ok = true, id = first, existing = true}) end
end
if redis.call('EXISTS', KEYS[1]) == 1 then return reply({ok = true, id = id, existing = true}) end
if ARGV[5] == '1' then redis.call('SET', KEYS[20], id, 'EX', ARGV[6]) end
local to = accept(id, cjson.decode(ARGV[2]), due, deadline, now)
note(now, 'task_submitted', {status = to, due_ms = due})
return reply({ok = true, id = id, status = to, existing = false})
