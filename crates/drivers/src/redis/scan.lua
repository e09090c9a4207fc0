-- KEYS: 2 is mint_register once more.  ARGV: 3 from, 4 to (as of ZRANGEBYLEX), 5 how many, 6 prefix of registers.
local from, wanted, answer = ARGV[3], tonumber(ARGV[5]), {'page'}
while wanted > 0 do
  local names = redis.call('ZRANGEBYLEX', KEYS[3], from, ARGV[4], 'LIMIT', 0, wanted)
  if #names == 0 then
    break
  end
  for _, name in ipairs(names) do
    local fields = held(ARGV[6] .. name)
    if fields then
      wanted = wanted - 1
      for _, part in ipairs({name, fields[1], fields[2] or '', fields[3] or '', fields[4] or ''}) do
        answer[#answer + 1] = part
      end
    end
  end
  from = '(' .. names[#names]
end
return answer
