-- ARGV: how many. Answers done and the new number; the old one where there are not so many left.
local value, why = counter()
if not value then return why end
local taken = redis.pcall('INCRBY', key, ARGV[1])
if type(taken) == 'table' and taken.err then
  if string.find(taken.err, 'overflow', 1, true) then return {'ended', value} end
  return {'denied', taken.err}
end
-- INCRBY's own answer has become a double.
return {'done', redis.call('GET', key)}
