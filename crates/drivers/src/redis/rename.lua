-- ARGV: 3 the new cluster id.
redis.call('HSET', KEYS[1], 'cluster_id', ARGV[3])
return {'done'}
