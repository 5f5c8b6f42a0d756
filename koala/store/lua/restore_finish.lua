-- Opens a restored store again, one longest lease from now; questions that are open still are closed.
-- KEYS  1 restored  2 hold-until  3 the longest lease there ever was, ms  4 questions  5 open questions
-- ARGV  1 epoch  2 the longest lease that is known elsewhere, ms  3 tasks, of those that have not ended  4 their effects
-- Reply {ok, hold_ms, now_ms} or refusal: epoch
-- Invariant: whoever trusts a lease of an older epoch has stopped to before the first new one. The same again does not
-- open it later or earlier.
local now = now_ms()
local restored = redis.call('HMGET', KEYS[1], 'epoch', 'state', 'open_ms')
if restored[1] ~= ARGV[1] then return refuse('epoch', {epoch = restored[1]}) end
if restored[2] == 'complete' then return reply({ok = true, hold_ms = math.max(0, tonumber(restored[3]) - now), now_ms = now}) end
for _, id in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do
  local text = redis.call('HGET', KEYS[4], id)
  if text then
    local question = cjson.decode(text)
    question.state, question.closed_ms, question.by = 'restored', now, 'koala'
    redis.call('HSET', KEYS[4], id, cjson.encode(question))
  end
end
redis.call('DEL', KEYS[5])
longer(KEYS[3], ARGV[2])
local hold = tonumber(redis.call('GET', KEYS[3]))
redis.call('SET', KEYS[2], integer(now + hold))
redis.call('HSET', KEYS[1], 'state', 'complete', 'open_ms', integer(now + hold), 'tasks', ARGV[3], 'effects', ARGV[4])
return reply({ok = true, hold_ms = hold, now_ms = now})
