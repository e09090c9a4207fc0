-- KEYS: 1 mint_meta, 2 the register, 3 mint_register.  ARGV: 1 schema version, 2 cluster id.
-- Every script of mint begins with this: a server that was emptied, or that is another one, does nothing.
local meta = redis.call('HMGET', KEYS[1], 'schema_version', 'cluster_id')
if meta[1] ~= ARGV[1] or meta[2] ~= ARGV[2] or not redis.call('ZSCORE', KEYS[3], '!cluster') then
  return {'stranger'}
end

-- The fields of a register, or false. Versions and marks are decimal texts: Lua's numbers end at 2^53.
local function held(key)
  local fields = redis.call('HMGET', key, 'version', 'mark', 'token', 'body')
  return fields[1] and fields
end

-- Whether a register can be judged: one that lost its mark is damaged, and is left as it is.
local function fits(fields, version)
  return fields and fields[1] == version and fields[2]
end

-- What a write that was not made answers; who asked judges why.
local function as_it_is(fields)
  if fields then
    return {'held', fields[1], fields[2] or '', fields[3] or '', fields[4] or ''}
  end
  return {'absent'}
end
