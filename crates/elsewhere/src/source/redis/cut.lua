-- ARGV: the move, the time. Answers done and the last number, or what stands there.
local value, why = counter()
if not value then return why end
-- The right to write a hash, and the memory for it, must be known before the DEL: the key must never be absent, since
-- INCR would begin at 1. On a string this changes nothing and says so.
local may = redis.pcall('HSET', key, 'move', ARGV[1])
if not (type(may) == 'table' and may.err and string.find(may.err, 'WRONGTYPE', 1, true)) then
  return {'denied', type(may) == 'table' and may.err or 'HSET on a string succeeded'}
end
redis.call('DEL', key)
local made = redis.pcall('HSET', key, 'moved_to', 'mint', 'move', ARGV[1], 'last', value, 'at', ARGV[2])
if type(made) == 'table' and made.err then
  redis.call('SET', key, value)
  return {'denied', made.err}
end
return {'done', value}
