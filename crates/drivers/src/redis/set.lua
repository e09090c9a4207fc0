-- ARGV: 3 expected version or '', 4 new version, 5 mark, 6 token, 7 body, 8 'raise' or 'any', 9 name.
local fields = held(KEYS[2])
if fields or ARGV[3] ~= '' then
  if not fits(fields, ARGV[3]) then
    return as_it_is(fields)
  end
end
if fields and ARGV[8] == 'raise' then
  local old, new = fields[2], ARGV[5]
  if #new < #old or (#new == #old and new < old) then
    return as_it_is(fields)
  end
end
-- The list of names first: a name without a register is skipped by every reader, the opposite would be lost.
if not fields then
  redis.call('ZADD', KEYS[3], 0, ARGV[9])
end
redis.call('HSET', KEYS[2], 'version', ARGV[4], 'mark', ARGV[5], 'token', ARGV[6], 'body', ARGV[7])
return {'done'}
