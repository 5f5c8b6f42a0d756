-- Adds the counters of one image to those of another and removes them: nothing that was counted is lost.
-- KEYS  1 counts that go  2 counts that they are added to  3 counted
-- Reply {ok, fields}
local now = now_ms()
local record = redis.call('HGETALL', KEYS[1])
for at = 1, #record, 2 do redis.call('HINCRBY', KEYS[2], record[at], record[at + 1]) end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[3], KEYS[1])
if #record > 0 then redis.call('ZADD', KEYS[3], integer(now), KEYS[2]) end
return reply({ok = true, fields = #record / 2})
