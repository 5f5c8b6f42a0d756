-- Removes a schedule. Its runs go on; that its occurrences had tasks stays known.
-- KEYS  1 schedule  2 its history  3 index of all schedules  4 due  5 put off
-- ARGV  1 name
-- Reply {ok} or refusal: unknown
if redis.call('DEL', KEYS[1]) == 0 then return refuse('unknown') end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('ZREM', KEYS[5], ARGV[1])
return reply({ok = true})
