-- Snowflakes: the presets are written from the library's table ----------------------------------

DROP FUNCTION IF EXISTS mintage__preset //
CREATE FUNCTION mintage__preset(preset VARCHAR(64) CHARACTER SET ascii) RETURNS TEXT CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE preset
  -- begin presets
    WHEN 'twitter' THEN '{"epoch_us":1288834974657000,"tick_us":1000,"bits":63,"time_bits":41,"time_shift":22,"worker_bits":10,"worker_shift":12,"sequence_bits":12,"sequence_shift":0,"constant_mask":0,"constant_value":0,"fields":[["timestamp_ms",41,22],["datacenter",5,17],["worker",5,12],["sequence",12,0]]}'
  -- end presets
    END //

-- A JSON array of their names.
DROP FUNCTION IF EXISTS mintage_snowflake_presets //
CREATE FUNCTION mintage_snowflake_presets() RETURNS TEXT CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN JSON_ARRAY(
  -- begin names
    'twitter'
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

