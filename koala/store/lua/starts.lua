-- Replaces what is known of a program's starts, unless somebody else has meanwhile.
-- KEYS  1 starts
-- ARGV  1 program  2 the record as it was read, empty for none  3 the new record, JSON
-- Reply {ok}; reason: changed
-- Invariant: each record is made from the one before it, so no start is counted twice or lost.
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return refuse('changed') end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return reply({ok = true})
