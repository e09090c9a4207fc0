-- Whether a cut or a take would be let through; changes nothing. ARGV: HSET or INCRBY.
local value, why = counter()
if not value then return why end
-- Both fail by what the key holds if they are allowed: HSET on a string, INCRBY by what is no number.
local may
if ARGV[1] == 'HSET' then
  may = redis.pcall('HSET', key, 'move', 'mint')
else
  may = redis.pcall('INCRBY', key, 'many')
end
if type(may) == 'table' and may.err then
  if string.find(may.err, 'WRONGTYPE', 1, true) or string.find(may.err, 'not an integer', 1, true) then
    return {'done', value}
  end
  return {'denied', may.err}
end
return {'denied', 'it was done'}
