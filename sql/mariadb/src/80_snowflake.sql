-- Snowflakes: the presets are written from the library's table ----------------------------------

DROP FUNCTION IF EXISTS mintage__preset //
CREATE FUNCTION mintage__preset(preset VARCHAR(64) CHARACTER SET ascii) RETURNS TEXT CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE preset
  -- begin presets
    WHEN 'twitter' THEN '{"epoch_us":1288834974657000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["datacenter",5,17],["worker",5,12],["sequence",12,0]]}'
    WHEN 'discord' THEN '{"epoch_us":1420070400000000,"tick_us":1000,"bits":64,"time_bits":42,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",42,22],["worker",5,17],["process",5,12],["sequence",12,0]]}'
    WHEN 'bwmarrin' THEN '{"epoch_us":1288834974657000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["node",10,12],["step",12,0]]}'
    WHEN 'leaf' THEN '{"epoch_us":1288834974657000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":100,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["worker",10,12],["sequence",12,0]]}'
    WHEN 'instagram' THEN '{"epoch_us":1314220021721000,"tick_us":1000,"bits":64,"time_bits":41,"time_shift":23,"worker_bits":13,"worker_shift":10,"sequence_bits":10,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":1,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,23],["shard",13,10],["sequence",10,0]]}'
    WHEN 'mastodon' THEN '{"epoch_us":0,"tick_us":1000,"bits":64,"time_bits":48,"time_shift":16,"worker_bits":0,"worker_shift":0,"sequence_bits":16,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":1,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",48,16],["sequence",16,0]]}'
    WHEN 'sonyflake' THEN '{"epoch_us":1409529600000000,"tick_us":10000,"bits":63,"time_bits":39,"time_shift":24,"worker_bits":16,"worker_shift":0,"sequence_bits":8,"sequence_shift":16,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_10ms",39,24],["sequence",8,16],["machine",16,0]]}'
    WHEN 'sonyflake2' THEN '{"epoch_us":1735689600000000,"tick_us":10000,"bits":63,"time_bits":39,"time_shift":24,"worker_bits":16,"worker_shift":0,"sequence_bits":8,"sequence_shift":16,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_10ms",39,24],["sequence",8,16],["machine",16,0]]}'
    WHEN 'hazelcast' THEN '{"epoch_us":1514764800000000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":16,"worker_shift":0,"sequence_bits":6,"sequence_shift":16,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["sequence",6,16],["node",16,0]]}'
    WHEN 'cosid' THEN '{"epoch_us":1577203200000000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":1,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["machine",10,12],["sequence",12,0]]}'
    WHEN 'cosid-s' THEN '{"epoch_us":1577203200000000,"tick_us":1000000,"bits":63,"time_bits":31,"time_shift":32,"worker_bits":10,"worker_shift":22,"sequence_bits":22,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":1,"constant_mask":0,"constant_value":0,"fields":[["timestamp_s",31,32],["machine",10,22],["sequence",22,0]]}'
    WHEN 'cosid-53' THEN '{"epoch_us":1577203200000000,"tick_us":1000,"bits":53,"time_bits":41,"time_shift":12,"worker_bits":3,"worker_shift":9,"sequence_bits":9,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":1,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,12],["machine",3,9],["sequence",9,0]]}'
    WHEN 'cosid-s-53' THEN '{"epoch_us":1577203200000000,"tick_us":1000000,"bits":53,"time_bits":31,"time_shift":22,"worker_bits":3,"worker_shift":19,"sequence_bits":19,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":1,"constant_mask":0,"constant_value":0,"fields":[["timestamp_s",31,22],["machine",3,19],["sequence",19,0]]}'
    WHEN 'yitter' THEN '{"epoch_us":1582136402000000,"tick_us":1000,"bits":53,"time_bits":41,"time_shift":12,"worker_bits":6,"worker_shift":6,"sequence_bits":6,"sequence_shift":0,"sequence_first":5,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,12],["worker",6,6],["sequence",6,0]]}'
    WHEN 'baidu' THEN '{"epoch_us":1463673600000000,"tick_us":1000000,"bits":63,"time_bits":28,"time_shift":35,"worker_bits":22,"worker_shift":13,"sequence_bits":13,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["delta_s",28,35],["worker",22,13],["sequence",13,0]]}'
    WHEN 'gosnowflake' THEN '{"epoch_us":1474802888000000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["worker",10,12],["sequence",12,0]]}'
    WHEN 'tso' THEN '{"epoch_us":0,"tick_us":1000,"bits":64,"time_bits":46,"time_shift":18,"worker_bits":0,"worker_shift":0,"sequence_bits":18,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["physical_ms",46,18],["logical",18,0]]}'
    WHEN 'spaceflake' THEN '{"epoch_us":1420070400000000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["node",5,17],["worker",5,12],["sequence",12,0]]}'
    WHEN 'frostflake' THEN '{"epoch_us":0,"tick_us":1000000,"bits":64,"time_bits":32,"time_shift":32,"worker_bits":11,"worker_shift":0,"sequence_bits":21,"sequence_shift":11,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_s",32,32],["sequence",21,11],["generator",11,0]]}'
    WHEN 'tsid' THEN '{"epoch_us":1577836800000000,"tick_us":1000,"bits":64,"time_bits":42,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":2048,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["time_ms",42,22],["node",10,12],["counter",12,0]]}'
    WHEN 'scru64' THEN '{"epoch_us":0,"tick_us":256000,"bits":62,"time_bits":38,"time_shift":24,"worker_bits":8,"worker_shift":16,"sequence_bits":16,"sequence_shift":0,"sequence_first":0,"sequence_spread":32768,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_256ms",38,24],["node",8,16],["counter",16,0]]}'
    WHEN 'flake-idgen' THEN '{"epoch_us":0,"tick_us":1000,"bits":64,"time_bits":42,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",42,22],["datacenter",5,17],["worker",5,12],["counter",12,0]]}'
    WHEN 'linkedin' THEN '{"epoch_us":0,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":0,"worker_shift":0,"sequence_bits":22,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":1,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["unknown",22,0]]}'
    WHEN 'rollback2' THEN '{"epoch_us":1577836800000000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":8,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"sequence_first":0,"sequence_spread":1,"sequence_carry":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["rollback",2,20],["worker",8,12],["sequence",12,0]]}'
  -- end presets
    END //

-- A JSON array of their names.
DROP FUNCTION IF EXISTS mintage_snowflake_presets //
CREATE FUNCTION mintage_snowflake_presets() RETURNS TEXT CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN JSON_ARRAY(
  -- begin names
    'twitter', 'discord', 'bwmarrin', 'leaf', 'instagram', 'mastodon', 'sonyflake', 'sonyflake2', 'hazelcast', 'cosid', 'cosid-s', 'cosid-53', 'cosid-s-53', 'yitter', 'baidu', 'gosnowflake', 'tso', 'spaceflake', 'frostflake', 'tsid', 'scru64', 'flake-idgen', 'linkedin', 'rollback2'
  -- end names
  ) //

DROP FUNCTION IF EXISTS mintage__layout //
CREATE FUNCTION mintage__layout(preset VARCHAR(64) CHARACTER SET ascii) RETURNS TEXT CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF mintage__preset(preset) IS NULL AND preset IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('no snowflake preset is called ''', preset, ''': mintage_snowflake_presets() lists them'));
  END IF;
  RETURN mintage__preset(preset);
END //

DROP FUNCTION IF EXISTS mintage__part //
CREATE FUNCTION mintage__part(layout TEXT CHARACTER SET ascii, name VARCHAR(20) CHARACTER SET ascii) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CAST(JSON_UNQUOTE(JSON_EXTRACT(layout, CONCAT('$.', name))) AS SIGNED) //

DROP FUNCTION IF EXISTS mintage__snowflake //
CREATE FUNCTION mintage__snowflake(preset VARCHAR(64) CHARACTER SET ascii, tick BIGINT, worker BIGINT, sequence BIGINT) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE l TEXT CHARACTER SET ascii DEFAULT mintage__layout(preset);
  DECLARE time_bits INT DEFAULT LEAST(mintage__part(l, 'time_bits'), 63 - mintage__part(l, 'time_shift'));
  IF worker < 0 OR worker >> mintage__part(l, 'worker_bits') <> 0 THEN
    CALL mintage__refuse_value(CONCAT('worker ', worker, ' does not fit preset ', preset, ': ', mintage__part(l, 'worker_bits'), ' bits, 0 to ',
                                      (1 << mintage__part(l, 'worker_bits')) - 1));
  ELSEIF sequence < 0 OR sequence >> mintage__part(l, 'sequence_bits') <> 0 THEN
    CALL mintage__refuse_value(CONCAT('no id is left for number ', sequence, ' of one tick: preset ', preset, ' has ', mintage__part(l, 'sequence_bits'),
                                      ' bits for it, 0 to ', (1 << mintage__part(l, 'sequence_bits')) - 1));
  ELSEIF tick < 0 OR tick >> time_bits <> 0 THEN
    CALL mintage__refuse_time(CONCAT('the time does not fit a snowflake of preset ', preset, ': it has ', time_bits, ' bits for ticks of ',
                                     mintage__part(l, 'tick_us'), ' us since ', mintage__at(mintage__part(l, 'epoch_us') + 12219292800000000)));
  END IF;
  RETURN CAST((tick << mintage__part(l, 'time_shift')) | (worker << mintage__part(l, 'worker_shift'))
              | (sequence << mintage__part(l, 'sequence_shift')) | mintage__part(l, 'constant_value') AS SIGNED);
END //

DROP FUNCTION IF EXISTS mintage__tick //
CREATE FUNCTION mintage__tick(l TEXT CHARACTER SET ascii, ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN FLOOR((TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', ts) - mintage__part(l, 'epoch_us')) / mintage__part(l, 'tick_us')) //

-- From everything given: for a back-fill, where sequence is the row's number within its tick.
DROP FUNCTION IF EXISTS mintage_form_snowflake //
CREATE FUNCTION mintage_form_snowflake(preset VARCHAR(64) CHARACTER SET ascii, ts DATETIME(6), worker BIGINT, sequence BIGINT) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__snowflake(preset, mintage__tick(mintage__layout(preset), ts), worker, sequence) //

DROP FUNCTION IF EXISTS mintage__is_snowflake //
CREATE FUNCTION mintage__is_snowflake(l TEXT CHARACTER SET ascii, id BIGINT) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN (mintage__part(l, 'bits') = 64 OR id >= 0 AND (mintage__part(l, 'bits') = 63 OR id >> mintage__part(l, 'bits') = 0))
       AND id & mintage__part(l, 'constant_mask') = mintage__part(l, 'constant_value') //

DROP FUNCTION IF EXISTS mintage__field //
CREATE FUNCTION mintage__field(l TEXT CHARACTER SET ascii, name VARCHAR(20) CHARACTER SET ascii, id BIGINT) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE WHEN mintage__is_snowflake(l, id) THEN (id >> mintage__part(l, CONCAT(name, '_shift'))) & ((1 << mintage__part(l, CONCAT(name, '_bits'))) - 1) END //

-- When an id was made, to the tick; NULL if it is no id of the preset.
DROP FUNCTION IF EXISTS mintage_snowflake_timestamp //
CREATE FUNCTION mintage_snowflake_timestamp(preset VARCHAR(64) CHARACTER SET ascii, id BIGINT) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__at(12219292800000000 + mintage__part(mintage__layout(preset), 'epoch_us')
                   + mintage__field(mintage__layout(preset), 'time', id) * mintage__part(mintage__layout(preset), 'tick_us')) //

DROP FUNCTION IF EXISTS mintage_snowflake_timestamp_strict //
CREATE FUNCTION mintage_snowflake_timestamp_strict(preset VARCHAR(64) CHARACTER SET ascii, id BIGINT) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_snowflake_timestamp(preset, id);
  IF answer IS NULL AND id IS NOT NULL AND preset IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT(id, ' is not a snowflake of preset ', preset));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_snowflake_worker //
CREATE FUNCTION mintage_snowflake_worker(preset VARCHAR(64) CHARACTER SET ascii, id BIGINT) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__field(mintage__layout(preset), 'worker', id) //

DROP FUNCTION IF EXISTS mintage_snowflake_sequence //
CREATE FUNCTION mintage_snowflake_sequence(preset VARCHAR(64) CHARACTER SET ascii, id BIGINT) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__field(mintage__layout(preset), 'sequence', id) //

DROP FUNCTION IF EXISTS mintage_snowflake_min //
CREATE FUNCTION mintage_snowflake_min(preset VARCHAR(64) CHARACTER SET ascii, ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_form_snowflake(preset, ts, 0, 0) //

DROP FUNCTION IF EXISTS mintage_snowflake_max //
CREATE FUNCTION mintage_snowflake_max(preset VARCHAR(64) CHARACTER SET ascii, ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_form_snowflake(preset, ts, (1 << mintage__part(mintage__layout(preset), 'worker_bits')) - 1,
                              (1 << mintage__part(mintage__layout(preset), 'sequence_bits')) - 1) //

DROP FUNCTION IF EXISTS mintage_snowflake_before //
CREATE FUNCTION mintage_snowflake_before(preset VARCHAR(64) CHARACTER SET ascii, ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_snowflake_max(preset, TIMESTAMPADD(MICROSECOND, -1, ts)) //

