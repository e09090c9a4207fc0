// The service of Twitter's Snowflake of 2010, written anew from what its clients send.

service Snowflake {
  i64 get_worker_id(),
  i64 get_timestamp(),
  i64 get_id(1: string useragent),
  i64 get_datacenter_id(),
}

// What a client of a later server would also ask for.
service Newer extends Snowflake {
  i64 get_shard(1: i32 of),
}
