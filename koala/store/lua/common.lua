-- Shared by every script; put in front of it when it is loaded.
--
-- Scripts that move a task are given the "task block" first:
--   KEYS[1] task         hash    the record
--   KEYS[2] timeline     stream  what happened to it
--   KEYS[3] lane         zset    ready tasks alike in all that gates them
--   KEYS[4] lanes        zset    lanes that have ready tasks
--   KEYS[5] open         hash    the task's effects that are `sent`: operation -> JSON
--   KEYS[6] deadlines    zset    tasks that have a deadline, by it
--   KEYS[7] questions    hash    id -> JSON
--   KEYS[8] asked        zset    open questions by the time they were asked
--   KEYS[9] epoch        string
--   KEYS[10..19] indexes zset    one a status, in the order of STATUSES
-- Keys of the script's own begin at KEYS[20]. Scripts that end attempts or tasks have the counters as their last two,
-- and set COUNTS and COUNTED to them:
--   counts   hash  of one image: attempt|workflow|outcome, ended|workflow|status and crash|kind -> how often
--   counted  zset  the keys of all such hashes, by when they were last raised
-- Times are ms since 1970 by the store's clock.
-- Replies are JSON objects with `ok`; a refusal has a `reason` from a closed list.

local STATUSES = {'later', 'ready', 'handed', 'running', 'review', 'done', 'failed', 'cancelled', 'dead', 'expired'}
local INDEX, ENDED = {}, {}
for i, status in ipairs(STATUSES) do
  INDEX[status] = i
  if i > 5 then ENDED[status] = true end
end
local COUNTS, COUNTED
local COUNTERS = 2000  -- a hash that is full counts further workflows as `other`
local BAND = 1e14  -- one priority step in a rank; times need less than 2e12

local function integer(number) return string.format('%.0f', number) end

local function now_ms()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

local function reply(fields) return cjson.encode(fields) end
local function refuse(reason, fields)
  fields = fields or {}
  fields.ok, fields.reason = false, reason
  return cjson.encode(fields)
end

-- Smaller is served sooner: higher priority first, then older.
local function rank(priority, time) return (9 - tonumber(priority)) * BAND + tonumber(time) end

local function note(now, action, fields)
  local data = next(fields or {}) and cjson.encode(fields) or '{}'
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', 2000, '*', 'at', integer(now), 'action', action, 'data', data)
end

-- Raises a counter by one. `last` is the outcome or status; of a crash there is only `name`, its kind.
local function count(now, kind, name, last)
  if not COUNTS then return end
  local tail = last and ('|' .. last) or ''
  local field = kind .. '|' .. name .. tail
  local full = redis.call('HLEN', COUNTS) >= COUNTERS and redis.call('HEXISTS', COUNTS, field) == 0
  redis.call('HINCRBY', COUNTS, full and (kind .. '|other' .. tail) or field, 1)
  redis.call('ZADD', COUNTED, integer(now), COUNTS)
end

local function index_key(status) return KEYS[9 + INDEX[status]] end

local function leave_lane(id, lane)
  redis.call('ZREM', KEYS[3], id)
  local head = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  if not head[1] then return redis.call('ZREM', KEYS[4], lane) end
  local standing, band = tonumber(redis.call('ZSCORE', KEYS[4], lane)), math.floor(tonumber(head[2]) / BAND)
  if math.floor(standing / BAND) < band then redis.call('ZADD', KEYS[4], integer(band * BAND + standing % BAND), lane) end
end

local function enter_lane(id, lane, priority, created, now)
  redis.call('ZADD', KEYS[3], integer(rank(priority, created)), id)
  local wanted, standing = rank(priority, now), redis.call('ZSCORE', KEYS[4], lane)
  if not standing or wanted < tonumber(standing) then redis.call('ZADD', KEYS[4], integer(wanted), lane) end
end

local function close_question(id, state, now, by)
  local text = id and id ~= '' and redis.call('HGET', KEYS[7], id)
  if not text then return end
  local question = cjson.decode(text)
  if question.state == 'open' then
    question.state, question.closed_ms, question.by = state, now, by
    redis.call('HSET', KEYS[7], id, cjson.encode(question))
  end
  redis.call('ZREM', KEYS[8], id)
  redis.call('HSET', KEYS[1], 'question', '')
end

-- Puts a task into a status: record, index, lane and deadline agree after it. `score` is the index score.
local function move(id, to, now, score)
  local task = redis.call('HMGET', KEYS[1], 'status', 'lane', 'priority', 'created_ms', 'question', 'crashes', 'workflow')
  local from = task[1]
  if from then redis.call('ZREM', index_key(from), id) end
  if from == 'ready' then leave_lane(id, task[2]) end
  if from == 'review' and to ~= 'review' then close_question(task[5], 'withdrawn', now, 'koala') end
  redis.call('ZADD', index_key(to), integer(score or now), id)
  redis.call('HSET', KEYS[1], 'status', to)
  if to == 'ready' then  -- what the pool has interrupted, or has an effect to settle, had its turn: it goes first
    local begun = from == 'running' or from == 'handed' or tonumber(task[6] or 0) > 0 or redis.call('HLEN', KEYS[5]) > 0
    enter_lane(id, task[2], task[3], task[4], begun and 0 or now)
  end
  if ENDED[to] then
    redis.call('HSET', KEYS[1], 'ended_ms', integer(now), 'wanted', '')
    redis.call('ZREM', KEYS[6], id)
    count(now, 'ended', task[7] or 'other', to)
  end
end

-- Makes the task of the block, whose record must not be there yet. `due` 0: now; `deadline` 0: none. Returns its status.
local function accept(id, record, due, deadline, now)
  for field, value in pairs(record) do redis.call('HSET', KEYS[1], field, value) end
  redis.call('HSET', KEYS[1], 'id', id, 'created_ms', integer(now), 'due_ms', integer(math.max(due, now)),
    'deadline_ms', integer(deadline), 'attempts', 0, 'crashes', 0, 'jobs', 0, 'wanted', '', 'question', '')
  if deadline > 0 then redis.call('ZADD', KEYS[6], integer(deadline), id) end
  local to = due > now and 'later' or 'ready'
  move(id, to, now, to == 'later' and due or now)
  return to
end

-- Opens a question about an effect and closes the task's former one. Returns its id.
local function ask(id, question, now)
  close_question(redis.call('HGET', KEYS[1], 'question'), 'superseded', now, 'koala')
  local number = redis.call('HINCRBY', KEYS[7], 'last', 1)
  question.id = redis.call('GET', KEYS[9]) .. '-' .. number
  question.task, question.state, question.asked_ms = id, 'open', now
  redis.call('HSET', KEYS[7], question.id, cjson.encode(question))
  redis.call('ZADD', KEYS[8], integer(now), question.id)
  local asked = redis.call('HGET', KEYS[1], 'asked')  -- all of them, for the day the task is forgotten
  redis.call('HSET', KEYS[1], 'question', question.id, 'asked', (asked and asked .. ' ' or '') .. question.id)
  note(now, 'review_asked', {question = question.id, kind = question.kind, operation = question.operation,
    quiet = question.quiet, why = question.why})
  return question.id
end

-- Puts a task whose first open effect it can no longer settle by itself into review. Returns `review`.
local function ask_about_open(id, why, now)
  local open = redis.call('HGETALL', KEYS[5])
  local sent = cjson.decode(open[2])
  ask(id, {kind = 'unknown', operation = open[1], try = sent.try, hash = sent.hash, description = sent.description,
    quiet = false, why = why, evidence = sent.fence}, now)
  move(id, 'review', now)
  redis.call('HSET', KEYS[1], 'reason', why)
  return 'review'
end

-- Where a task goes when nothing runs it: `to`, unless an effect is open (then an end is only wanted, and it runs once
-- more to settle that; the second time a person is asked) or an end was wanted and nothing is open any more (then it
-- ends). `due` is for `later`. Returns the status it got.
local function settle(id, to, reason, now, due)
  local open = redis.call('HLEN', KEYS[5])
  local wanted = redis.call('HGET', KEYS[1], 'wanted')
  if open > 0 and ENDED[to] then
    if wanted and wanted ~= '' then return ask_about_open(id, 'it ends without settling this effect: ' .. reason, now) end
    redis.call('HSET', KEYS[1], 'wanted', to, 'wanted_reason', reason)
    note(now, 'end_waits', {wanted = to, open = open, why = reason})
    to = 'ready'
  elseif open == 0 and wanted and wanted ~= '' and not ENDED[to] then
    to, reason = wanted, redis.call('HGET', KEYS[1], 'wanted_reason') or reason
  end
  move(id, to, now, to == 'later' and due or now)
  redis.call('HSET', KEYS[1], 'reason', reason, 'due_ms', integer(due or now))
  note(now, 'task_' .. to, {why = reason})
  return to
end

-- One more crash of the pool under this task; three end it.
local function crashed(id, why, now, counts)
  local crashes = counts and redis.call('HINCRBY', KEYS[1], 'crashes', 1) or 0
  if crashes < 3 then return settle(id, 'ready', why, now) end
  local reason = 'it has taken its worker down ' .. crashes .. ' times, last: ' .. why
  if redis.call('HLEN', KEYS[5]) == 0 then return settle(id, 'dead', reason, now) end
  redis.call('HSET', KEYS[1], 'wanted', 'dead', 'wanted_reason', reason)
  return ask_about_open(id, reason, now)
end

local function held(lease, fence, now)
  local got = redis.call('HMGET', lease, 'fence', 'expires_ms')
  return got[1] == fence and tonumber(got[2]) > now
end

-- Keeps the longest TTL of any lease: so long a restored store gives none.
local function longer(key, ttl)
  if tonumber(ttl) > tonumber(redis.call('GET', key) or 0) then redis.call('SET', key, ttl) end
end

-- Whether an operation is a question of a workflow, which acts on nothing. Names of effects do not begin like that.
local function asks(operation) return string.match(operation, '^[^/]*/ask%.') ~= nil end

-- What may have been done after the backup that the store was restored from: `sent`, by anyone of the older epochs.
-- Only a settlement leads out of it. Returns its try.
local UNKNOWN_SETTLE_S = 300  -- for an effect that had not told its own yet
local function doubt(effect, open, operation, epoch, now)
  local got = redis.call('HMGET', effect, 'sent', 'hash', 'description')
  local before = got[1] and cjson.decode(got[1]) or {}
  local facts = {owner = 'ALL', epoch = epoch, fence = before.fence or '', sent_ms = now,
    settle_s = before.settle_s or UNKNOWN_SETTLE_S, try = redis.call('HINCRBY', effect, 'try', 1)}
  redis.call('HSET', effect, 'state', 'sent', 'token', '', 'doubted', epoch, 'sent', cjson.encode(facts))
  facts.hash, facts.description = got[2] or '', got[3] or ''
  redis.call('HSET', open, operation, cjson.encode(facts))
  return facts.try
end

local function paused(switches, workflow, profile, worker)
  for _, name in ipairs({'pool', 'workflow:' .. workflow, 'profile:' .. profile, 'worker:' .. (worker or '')}) do
    if redis.call('HEXISTS', switches, name) == 1 then return name end
  end
  return false
end
