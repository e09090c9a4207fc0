-- Snowflake presets: written from the library's table; a test keeps the two equal -----------------------------------

-- Dropped first: its columns may change from version to version.
DROP FUNCTION IF EXISTS @extschema@._preset(text);
CREATE FUNCTION @extschema@._preset(preset text,
  OUT epoch_us bigint, OUT tick_us bigint, OUT bits integer, OUT time_bits integer, OUT time_shift integer,
  OUT worker_bits integer, OUT worker_shift integer, OUT sequence_bits integer, OUT sequence_shift integer,
  OUT sequence_first bigint, OUT sequence_spread bigint, OUT sequence_carry bigint, OUT constant_mask bigint, OUT constant_value bigint,
  OUT field_names text[], OUT field_bits integer[], OUT field_shifts integer[])
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  CASE preset
  -- begin presets
  WHEN 'twitter' THEN
    epoch_us := 1288834974657000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,datacenter,worker,sequence}'; field_bits := '{41,5,5,12}'; field_shifts := '{22,17,12,0}';
  WHEN 'discord' THEN
    epoch_us := 1420070400000000; tick_us := 1000; bits := 64;
    time_bits := 42; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,worker,process,sequence}'; field_bits := '{42,5,5,12}'; field_shifts := '{22,17,12,0}';
  WHEN 'bwmarrin' THEN
    epoch_us := 1288834974657000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,node,step}'; field_bits := '{41,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'leaf' THEN
    epoch_us := 1288834974657000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 100; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,worker,sequence}'; field_bits := '{41,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'instagram' THEN
    epoch_us := 1314220021721000; tick_us := 1000; bits := 64;
    time_bits := 41; time_shift := 23; worker_bits := 13; worker_shift := 10; sequence_bits := 10; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,shard,sequence}'; field_bits := '{41,13,10}'; field_shifts := '{23,10,0}';
  WHEN 'mastodon' THEN
    epoch_us := 0; tick_us := 1000; bits := 64;
    time_bits := 48; time_shift := 16; worker_bits := 0; worker_shift := 0; sequence_bits := 16; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,sequence}'; field_bits := '{48,16}'; field_shifts := '{16,0}';
  WHEN 'sonyflake' THEN
    epoch_us := 1409529600000000; tick_us := 10000; bits := 63;
    time_bits := 39; time_shift := 24; worker_bits := 16; worker_shift := 0; sequence_bits := 8; sequence_shift := 16;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_10ms,sequence,machine}'; field_bits := '{39,8,16}'; field_shifts := '{24,16,0}';
  WHEN 'sonyflake2' THEN
    epoch_us := 1735689600000000; tick_us := 10000; bits := 63;
    time_bits := 39; time_shift := 24; worker_bits := 16; worker_shift := 0; sequence_bits := 8; sequence_shift := 16;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_10ms,sequence,machine}'; field_bits := '{39,8,16}'; field_shifts := '{24,16,0}';
  WHEN 'hazelcast' THEN
    epoch_us := 1514764800000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 16; worker_shift := 0; sequence_bits := 6; sequence_shift := 16;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,sequence,node}'; field_bits := '{41,6,16}'; field_shifts := '{22,16,0}';
  WHEN 'cosid' THEN
    epoch_us := 1577203200000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,machine,sequence}'; field_bits := '{41,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'cosid-s' THEN
    epoch_us := 1577203200000000; tick_us := 1000000; bits := 63;
    time_bits := 31; time_shift := 32; worker_bits := 10; worker_shift := 22; sequence_bits := 22; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_s,machine,sequence}'; field_bits := '{31,10,22}'; field_shifts := '{32,22,0}';
  WHEN 'cosid-53' THEN
    epoch_us := 1577203200000000; tick_us := 1000; bits := 53;
    time_bits := 41; time_shift := 12; worker_bits := 3; worker_shift := 9; sequence_bits := 9; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,machine,sequence}'; field_bits := '{41,3,9}'; field_shifts := '{12,9,0}';
  WHEN 'cosid-s-53' THEN
    epoch_us := 1577203200000000; tick_us := 1000000; bits := 53;
    time_bits := 31; time_shift := 22; worker_bits := 3; worker_shift := 19; sequence_bits := 19; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_s,machine,sequence}'; field_bits := '{31,3,19}'; field_shifts := '{22,19,0}';
  WHEN 'yitter' THEN
    epoch_us := 1582136402000000; tick_us := 1000; bits := 53;
    time_bits := 41; time_shift := 12; worker_bits := 6; worker_shift := 6; sequence_bits := 6; sequence_shift := 0;
    sequence_first := 5; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,worker,sequence}'; field_bits := '{41,6,6}'; field_shifts := '{12,6,0}';
  WHEN 'baidu' THEN
    epoch_us := 1463673600000000; tick_us := 1000000; bits := 63;
    time_bits := 28; time_shift := 35; worker_bits := 22; worker_shift := 13; sequence_bits := 13; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{delta_s,worker,sequence}'; field_bits := '{28,22,13}'; field_shifts := '{35,13,0}';
  WHEN 'gosnowflake' THEN
    epoch_us := 1474802888000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,worker,sequence}'; field_bits := '{41,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'tso' THEN
    epoch_us := 0; tick_us := 1000; bits := 64;
    time_bits := 46; time_shift := 18; worker_bits := 0; worker_shift := 0; sequence_bits := 18; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{physical_ms,logical}'; field_bits := '{46,18}'; field_shifts := '{18,0}';
  WHEN 'spaceflake' THEN
    epoch_us := 1420070400000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,node,worker,sequence}'; field_bits := '{41,5,5,12}'; field_shifts := '{22,17,12,0}';
  WHEN 'frostflake' THEN
    epoch_us := 0; tick_us := 1000000; bits := 64;
    time_bits := 32; time_shift := 32; worker_bits := 11; worker_shift := 0; sequence_bits := 21; sequence_shift := 11;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_s,sequence,generator}'; field_bits := '{32,21,11}'; field_shifts := '{32,11,0}';
  WHEN 'tsid' THEN
    epoch_us := 1577836800000000; tick_us := 1000; bits := 64;
    time_bits := 42; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 2048; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{time_ms,node,counter}'; field_bits := '{42,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'scru64' THEN
    epoch_us := 0; tick_us := 256000; bits := 62;
    time_bits := 38; time_shift := 24; worker_bits := 8; worker_shift := 16; sequence_bits := 16; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 32768; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_256ms,node,counter}'; field_bits := '{38,8,16}'; field_shifts := '{24,16,0}';
  WHEN 'flake-idgen' THEN
    epoch_us := 0; tick_us := 1000; bits := 64;
    time_bits := 42; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,datacenter,worker,counter}'; field_bits := '{42,5,5,12}'; field_shifts := '{22,17,12,0}';
  WHEN 'linkedin' THEN
    epoch_us := 0; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 0; worker_shift := 0; sequence_bits := 22; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,unknown}'; field_bits := '{41,22}'; field_shifts := '{22,0}';
  WHEN 'rollback2' THEN
    epoch_us := 1577836800000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 8; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,rollback,worker,sequence}'; field_bits := '{41,2,8,12}'; field_shifts := '{22,20,12,0}';
  -- end presets
  ELSE
    RAISE EXCEPTION 'no snowflake preset is called "%"', preset USING ERRCODE = 'invalid_parameter_value',
      HINT = 'snowflake_presets() lists them.';
  END CASE;
END $$;

CREATE OR REPLACE FUNCTION @extschema@.snowflake_presets() RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
  SELECT unnest(ARRAY[
  -- begin names
    'twitter', 'discord', 'bwmarrin', 'leaf', 'instagram', 'mastodon', 'sonyflake', 'sonyflake2', 'hazelcast', 'cosid', 'cosid-s', 'cosid-53', 'cosid-s-53', 'yitter', 'baidu', 'gosnowflake', 'tso', 'spaceflake', 'frostflake', 'tsid', 'scru64', 'flake-idgen', 'linkedin', 'rollback2'
  -- end names
  ]) $$;
