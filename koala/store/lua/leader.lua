-- Takes or keeps the leadership of the scheduler, or gives it up.
-- KEYS  1 leader
-- ARGV  1 who  2 ttl in ms (0: give it up)  3 facts, JSON
-- Reply {ok, leader, mine}
-- Invariant: one leader at any instant of the store's clock.
local now = now_ms()
local got = redis.call('HMGET', KEYS[1], 'who', 'expires_ms')
local mine = got[1] == ARGV[1] or not got[2] or tonumber(got[2]) <= now
if not mine then return reply({ok = true, leader = got[1], mine = false}) end
if tonumber(ARGV[2]) == 0 then
  redis.call('DEL', KEYS[1])
  return reply({ok = true, mine = false})
end
if got[1] ~= ARGV[1] then redis.call('HSET', KEYS[1], 'since_ms', integer(now)) end
redis.call('HSET', KEYS[1], 'who', ARGV[1], 'expires_ms', integer(now + tonumber(ARGV[2])), 'facts', ARGV[3])
return reply({ok = true, leader = ARGV[1], mine = true})
