-- What mint init does.  KEYS: 1 mint_meta, 2 mint_register.  ARGV: 1 schema version, 2 a fresh cluster id.
local meta = redis.call('HMGET', KEYS[1], 'schema_version', 'cluster_id')
if meta[1] or meta[2] then
  return {'there', meta[1] or '', meta[2] or ''}
end
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
  return {'remains'}
end
redis.call('HSET', KEYS[1], 'schema_version', ARGV[1], 'cluster_id', ARGV[2], 'made_by', 'mint init')
-- No key of a register has this name: it tells an emptied list from a fresh one.
redis.call('ZADD', KEYS[2], 0, '!cluster')
return {'made'}
