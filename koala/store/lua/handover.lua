-- Decides what may start now, and hands it over: at most as much as idle slots can take.
-- KEYS  1 lanes  2 leases  3 slots  4 switches  5 index of ready  6 index of handed  7 hold-until  8 cursor
-- ARGV  1 prefix of task records  2 of lanes  3 of slots  4 of classes  5 of leases  6 most lanes to examine in one go
-- Reply {ok, handed = [{id, job, class}], idle}
-- Invariant: handed + running never exceed the accepting slots of a class; a profile has at most one task handed or
-- running; lanes take turns within a priority. This script builds record keys from the prefixes (no Cluster).
local now = now_ms()
local TASKS, LANES_, SLOTS_, CLASSES, LEASES_ = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local MOST = tonumber(ARGV[6])

local switches = {}
for _, name in ipairs(redis.call('HKEYS', KEYS[4])) do switches[name] = true end
if switches.pool or now < tonumber(redis.call('GET', KEYS[7]) or 0) then
  return reply({ok = true, handed = {}, idle = 0})
end

local busy, busy_slot = {}, {}
for _, resource in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. integer(now), '+inf')) do
  busy[resource] = true
  busy_slot[redis.call('HGET', LEASES_ .. resource, 'slot') or ''] = true
end

local free, classes = {}, {}
for _, slot in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. integer(now), '+inf')) do
  local got = redis.call('HMGET', SLOTS_ .. slot, 'class', 'accepting', 'worker')
  if got[1] and got[2] == '1' and not busy_slot[slot] and not switches['worker:' .. (got[3] or '')] then
    if not free[got[1]] then free[got[1]] = 0; classes[#classes + 1] = got[1] end
    free[got[1]] = free[got[1]] + 1
  end
end
table.sort(classes)
for _, id in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
  local got = redis.call('HMGET', TASKS .. id, 'class', 'profile')
  if free[got[1]] then free[got[1]] = free[got[1]] - 1 end
  if got[2] and got[2] ~= '' then busy['profile:' .. got[2]] = true end
end
local idle = 0
for _, number in pairs(free) do idle = idle + math.max(number, 0) end  -- one class's surplus is not another's debt

local known = {}
local function runs(class, kind)
  local key = class .. ' ' .. kind
  if known[key] == nil then known[key] = redis.call('SISMEMBER', CLASSES .. class, kind) == 1 end
  return known[key]
end

-- The class whose idle slot may start the head of a lane now, and the lane's profile; nil when it has to wait.
local function startable(lane)
  local kind, profile = string.match(lane, '^([^|]*)|(.*)$')
  local resource = 'profile:' .. profile
  if switches['workflow:' .. string.match(kind, '^(.*)@')] then return nil end
  if profile ~= '' and (switches[resource] or busy[resource]) then return nil end
  for _, class in ipairs(classes) do
    if free[class] > 0 and runs(class, kind) then return class, profile end
  end
end

local handed = {}
local function start(lane, class, profile)
  local key = LANES_ .. lane
  local id = redis.call('ZRANGE', key, 0, 0)[1]
  redis.call('ZREM', key, id)
  redis.call('ZREM', KEYS[5], id)
  redis.call('ZADD', KEYS[6], integer(now), id)
  local job = redis.call('HINCRBY', TASKS .. id, 'jobs', 1)
  redis.call('HSET', TASKS .. id, 'status', 'handed', 'class', class)
  free[class], idle = free[class] - 1, idle - 1
  if profile ~= '' then busy['profile:' .. profile] = true end
  handed[#handed + 1] = {id = id, job = job, class = class}
  local head = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if not head[1] then return redis.call('ZREM', KEYS[1], lane) end
  -- To the back of its priority, also behind the lanes that were served in this same millisecond.
  redis.call('ZADD', KEYS[1], integer(math.floor(tonumber(head[2]) / BAND) * BAND + now + #handed), lane)
end

-- Looks at lanes from a rank on. Returns the rank it has come to, nil when there is no lane any more.
local function scan(rank)
  local left = MOST
  while left > 0 and idle > 0 do
    local some = redis.call('ZRANGE', KEYS[1], rank, rank + math.min(left, 100) - 1)
    if not some[1] then return nil end
    for _, lane in ipairs(some) do
      left = left - 1
      local class, profile = startable(lane)
      if class then start(lane, class, profile) break end  -- ranks have moved: look again from here
      rank = rank + 1
    end
  end
  return rank
end

local come_to = scan(0)
if come_to and idle > 0 then  -- the best lanes all wait: each call looks at another stretch of those behind them
  local after = scan(math.max(come_to, tonumber(redis.call('GET', KEYS[8]) or 0)))
  redis.call('SET', KEYS[8], integer(after or 0))
end
return reply({ok = true, handed = handed, idle = idle})
