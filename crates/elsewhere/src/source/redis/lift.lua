-- ARGV: the move, the last number of its fence, the number to go on above. Answers done, or what stands there.
local value, why = counter()
if value then return {'serves', value} end
if why[1] ~= 'fenced' or why[2] ~= ARGV[1] or why[3] ~= ARGV[2] then return why end
redis.call('SET', key, ARGV[3])
return {'done', ARGV[3]}
