-- Takes one task into the epoch of a restored store: nothing runs it, its question is closed, and every effect of it
-- that has not happened may have been done after the backup. The same again changes nothing.
-- KEYS  task block; 20 attempts  21 restored  22... its effects' records
-- ARGV  1 id  2 epoch  3 operations of these effects, JSON list in their order
-- Reply {ok, done, status, effects} or refusal: unknown, epoch
-- Invariant: promise 3. No attempt costs the task anything that the restore has ended.
local id, epoch = ARGV[1], ARGV[2]
local now = now_ms()
local task = redis.call('HMGET', KEYS[1], 'status', 'restored', 'fence', 'question')
if not task[1] then return refuse('unknown') end
if redis.call('HGET', KEYS[21], 'epoch') ~= epoch then return refuse('epoch') end
if task[2] == epoch then return reply({ok = true, done = false, status = task[1], effects = 0}) end
redis.call('HSET', KEYS[1], 'restored', epoch)
if ENDED[task[1]] then return reply({ok = true, done = true, status = task[1], effects = 0}) end
local doubted = 0
for i, operation in ipairs(cjson.decode(ARGV[3])) do
  local effect = redis.call('HMGET', KEYS[21 + i], 'task', 'state')
  if effect[1] == id and effect[2] ~= 'happened' and not asks(operation) then
    doubt(KEYS[21 + i], KEYS[5], operation, epoch, now)
    doubted = doubted + 1
  end
end
local why = 'the store was restored from a backup: what this task does outside may have been done after it, so each '
  .. 'effect is looked for first'
note(now, 'restored', {epoch = epoch, effects = doubted, was = task[1], why = why})
redis.call('HSET', KEYS[1], 'waits', '')
if task[1] == 'running' then
  local attempt = cjson.decode(redis.call('HGET', KEYS[20], task[3]) or '{}')
  attempt.ended_ms, attempt.outcome, attempt.reason = now, 'lost', 'the store was restored'
  redis.call('HSET', KEYS[20], task[3], cjson.encode(attempt))
end
close_question(task[4], 'restored', now, 'koala')
local status = task[1]
if status == 'running' or status == 'handed' or status == 'review' then
  status = settle(id, 'ready', 'the store was restored', now)
end
return reply({ok = true, done = true, status = status, effects = doubted})
