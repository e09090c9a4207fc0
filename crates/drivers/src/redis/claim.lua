-- ARGV: 3 expected version, 4 new version, 5 how much to add, 6 token.
local fields = held(KEYS[2])
if not fits(fields, ARGV[3]) then
  return as_it_is(fields)
end
-- The sum of two decimal texts in two halves of at most eleven digits, each exact in a double.
local function halves(text)
  return tonumber(string.sub(text, 1, -10)) or 0, tonumber(string.sub(text, -9))
end
local high, low = halves(fields[2])
local more_high, more_low = halves(ARGV[5])
high, low = high + more_high, low + more_low
if low >= 1000000000 then
  high, low = high + 1, low - 1000000000
end
local mark = string.format('%.0f', low)
if high > 0 then
  mark = string.format('%.0f%09.0f', high, low)
end
local largest = '9223372036854775807'
if #mark > #largest or (#mark == #largest and mark > largest) then
  return as_it_is(fields)
end
redis.call('HSET', KEYS[2], 'version', ARGV[4], 'mark', mark, 'token', ARGV[6])
return {'done'}
