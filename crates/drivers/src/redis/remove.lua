-- ARGV: 3 expected version, 4 name.
local fields = held(KEYS[2])
if not fits(fields, ARGV[3]) or fields[2] ~= '0' then
  return as_it_is(fields)
end
redis.call('DEL', KEYS[2])
-- The register is gone; its name in the list is only looked at where there is a register.
redis.pcall('ZREM', KEYS[3], ARGV[4])
return {'done'}
