-- Put a job into its queue, unless RQ carries it already.
--
-- KEYS  1  the job's hash                    rq:job:<job>
--       2  the queue's list                  rq:queue:<queue>
--       3  the list of jobs being taken      rq:queue:<queue>:intermediate
--       4  the job's running executions      rq:executions:<job>
--       5  the set of all queues             rq:queues
-- ARGV  1  job id
--       2  seconds after which a forgotten hash goes away
--       3… field, value, … of the hash
-- Reply 1 pushed, 0 carried already (nothing written but the name of the queue)
-- Invariant: a job id is at most once in list and intermediate list together. A hash alone carries nothing, so one
-- that was left behind does not keep its job from being pushed.

redis.call('SADD', KEYS[5], KEYS[2])
if redis.call('LPOS', KEYS[2], ARGV[1])
  or redis.call('LPOS', KEYS[3], ARGV[1])
  or redis.call('EXISTS', KEYS[4]) == 1 then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('RPUSH', KEYS[2], ARGV[1])
return 1
