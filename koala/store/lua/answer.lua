-- A person's answer to a question, applied once.
-- KEYS  task block; 20 effect  21 counts  22 counted
-- ARGV  1 task id  2 question id  3 try  4 approve | reject | happened | did_not_happen | look_again  5 who  6 note
--       7 receipt, JSON ('' for none)
-- Reply {ok, status} or refusal: question (state of it), status, try, kind, quiet, state
-- Invariant: the first answer wins; an answer to one try never touches another.
COUNTS, COUNTED = KEYS[21], KEYS[22]
local id, answer, who = ARGV[1], ARGV[4], ARGV[5]
local now = now_ms()
local text = redis.call('HGET', KEYS[7], ARGV[2])
if not text then return refuse('question', {state = 'unknown'}) end
local question = cjson.decode(text)
if question.state ~= 'open' then return refuse('question', {state = question.state, answer = question.answer, by = question.by}) end
if question.task ~= id or redis.call('HGET', KEYS[1], 'status') ~= 'review' then return refuse('status') end
if tostring(question.try) ~= ARGV[3] then return refuse('try', {try = question.try}) end
local decides = answer == 'approve' or answer == 'reject'
if answer ~= 'look_again' and decides ~= (question.kind == 'approval') then return refuse('kind', {kind = question.kind}) end
local to, reason = 'ready', answer .. ' by ' .. who
if decides then
  redis.call('HSET', KEYS[20], (answer == 'approve' and 'approved:' or 'rejected:') .. question.hash,
    cjson.encode({by = who, note = ARGV[6], at_ms = now, question = ARGV[2]}))
  if answer == 'reject' then to, reason = 'cancelled', 'rejected by ' .. who end
elseif answer ~= 'look_again' then
  if answer == 'did_not_happen' and not question.quiet then return refuse('quiet') end
  local effect = redis.call('HMGET', KEYS[20], 'state', 'try')
  if effect[1] ~= 'sent' or effect[2] ~= ARGV[3] then return refuse('state', {state = effect[1]}) end
  local state = answer == 'happened' and 'happened' or 'absent'
  redis.call('HSET', KEYS[20], 'state', state, 'settled_by', who, 'settled_ms', integer(now), 'how', 'person')
  if state == 'happened' then
    local receipt = ARGV[7] ~= '' and ARGV[7] or cjson.encode({confirmed_by = who, note = ARGV[6]})
    redis.call('HSET', KEYS[20], 'receipt', receipt)
  end
  redis.call('HDEL', KEYS[5], question.operation)
  note(now, 'effect_' .. state, {operation = question.operation, try = question.try, how = 'person', by = who})
end
question.state, question.answer, question.by, question.note, question.closed_ms = 'answered', answer, who, ARGV[6], now
redis.call('HSET', KEYS[7], ARGV[2], cjson.encode(question))
redis.call('ZREM', KEYS[8], ARGV[2])
redis.call('HSET', KEYS[1], 'question', '')
note(now, 'review_answered', {question = ARGV[2], answer = answer, by = who, note = ARGV[6]})
return reply({ok = true, status = settle(id, to, reason, now)})
