-- What is this id? --------------------------------------------------------------------------------------------------

DROP FUNCTION IF EXISTS mintage__time //
CREATE FUNCTION mintage__time(ts DATETIME(6), digits INT, ticks INT) RETURNS VARCHAR(40) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CONCAT(DATE_FORMAT(ts, '%Y-%m-%dT%H:%i:%s'), IF(digits > 0, LEFT(CONCAT(DATE_FORMAT(ts, '.%f'), ticks, '00'), digits + 1), ''), 'Z') //

DROP FUNCTION IF EXISTS mintage__with_time //
CREATE FUNCTION mintage__with_time(reading LONGTEXT CHARACTER SET utf8mb4, ts DATETIME(6), digits INT, ticks INT) RETURNS LONGTEXT CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN JSON_INSERT(reading, '$.time', mintage__time(ts, digits, ticks),
  '$.unix_ns', CAST((CAST(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', ts) AS DECIMAL(30, 0)) * 10 + ticks) * 100 AS CHAR)) //

DROP FUNCTION IF EXISTS mintage__read_uuid //
CREATE FUNCTION mintage__read_uuid(hex CHAR(32) CHARACTER SET ascii, punctuated INT, now_ts DATETIME(6)) RETURNS LONGTEXT CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE id CHAR(36) CHARACTER SET ascii DEFAULT mintage__uuid(hex);
  DECLARE version INT DEFAULT mintage_uuid_version(id);
  DECLARE hi BIGINT UNSIGNED DEFAULT mintage__hi(id);
  DECLARE lo BIGINT UNSIGNED DEFAULT mintage__lo(id);
  DECLARE confidence DOUBLE DEFAULT 0.5;
  DECLARE why VARCHAR(255) DEFAULT CONCAT('a uuid of the ', mintage_uuid_variant(id), ' variant, which has no versions');
  DECLARE reading LONGTEXT CHARACTER SET utf8mb4 DEFAULT JSON_OBJECT('format', 'uuid', 'variant', mintage_uuid_variant(id));
  DECLARE fields LONGTEXT CHARACTER SET utf8mb4 DEFAULT JSON_OBJECT();
  DECLARE ts DATETIME(6);
  IF hex IN (REPEAT('0', 32), REPEAT('f', 32)) THEN
    SET confidence = 0.99, why = IF(hi = 0, 'the nil uuid, RFC 9562 section 5.9', 'the max uuid, RFC 9562 section 5.10');
  ELSEIF version NOT BETWEEN 1 AND 8 THEN
    SET why = CONCAT('the rfc9562 variant with version ', version, ', which is not assigned');
  ELSEIF version IS NOT NULL THEN
    SET confidence = 0.99, why = CONCAT('variant rfc9562 and version ', version);
    IF version IN (1, 6) THEN
      SET ts = mintage_uuid_timestamp(id);
      SET reading = mintage__with_time(reading, ts, 7, mintage_uuid_timestamp_100ns(id));
      SET fields = JSON_OBJECT('ticks', CAST(mintage_uuid_ticks(id) AS CHAR), 'clock_seq', 0 + mintage_uuid_clock_seq(id), 'node', mintage_uuid_node(id));
    ELSEIF version = 2 THEN
      -- The low 32 bits of the time give way to the local id: 2^32 ticks are 429 s.
      SET ts = mintage__at((((hi & 4095) << 48) | ((hi & 4294901760) << 16)) DIV 10);
      SET reading = mintage__with_time(reading, ts, 0, (((hi & 4095) << 48) | ((hi & 4294901760) << 16)) % 10);
      SET fields = JSON_OBJECT('ticks', CAST(((hi & 4095) << 48) | ((hi & 4294901760) << 16) AS CHAR), 'local_id', hi >> 32, 'clock_seq', (lo >> 56) & 63, 'domain', (lo >> 48) & 255, 'node', mintage_uuid_node(id));
    ELSEIF version = 7 THEN
      SET ts = mintage_uuid_v7_timestamp(id);
      SET reading = IF(ts IS NULL, reading, mintage__with_time(reading, ts, 3, 0));
      SET fields = JSON_OBJECT('unix_ts_ms', hi >> 16, 'rand_a', hi & 4095, 'rand_b', CAST(lo & 4611686018427387903 AS CHAR));
    ELSEIF version = 8 THEN
      SET fields = JSON_OBJECT('custom_a', hi >> 16, 'custom_b', hi & 4095, 'custom_c', CAST(lo & 4611686018427387903 AS CHAR));
    END IF;
    IF version = 7 AND ts IS NULL OR ts > TIMESTAMPADD(DAY, 1, now_ts) THEN
      SET confidence = 0.9, why = CONCAT(why, ', but its time lies in the future');
    ELSEIF ts < TIMESTAMP'1985-01-31 00:00:00' THEN
      SET confidence = 0.9, why = CONCAT(why, ', but its time lies before any uuid was made');
    ELSEIF ts IS NOT NULL THEN
      SET why = CONCAT(why, ', and its time is plausible');
    END IF;
  END IF;
  IF NOT punctuated THEN
    SET confidence = confidence * 0.9, why = CONCAT(why, '; 32 hexadecimal digits can also be a hash');
  END IF;
  IF version IS NOT NULL THEN
    SET reading = JSON_INSERT(reading, '$.version', version);
  END IF;
  RETURN JSON_INSERT(reading, '$.confidence', ROUND(confidence, 2), '$.why', why, '$.fields', JSON_EXTRACT(fields, '$'));
END //

-- A snowflake's fields by the preset's own names, as JSON; NULL if the id is not of it.
DROP FUNCTION IF EXISTS mintage_snowflake_fields //
CREATE FUNCTION mintage_snowflake_fields(preset VARCHAR(64) CHARACTER SET ascii, id BIGINT) RETURNS LONGTEXT CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE l TEXT CHARACTER SET ascii DEFAULT mintage__layout(preset);
  DECLARE answer LONGTEXT CHARACTER SET utf8mb4 DEFAULT JSON_OBJECT();
  DECLARE at INT DEFAULT 0;
  DECLARE bits INT;
  DECLARE value BIGINT UNSIGNED;
  IF NOT mintage__is_snowflake(l, id) OR id IS NULL OR preset IS NULL THEN
    RETURN NULL;
  END IF;
  WHILE at < JSON_LENGTH(l, '$.fields') DO
    SET bits = JSON_EXTRACT(l, CONCAT('$.fields[', at, '][1]'));
    SET value = (id >> JSON_EXTRACT(l, CONCAT('$.fields[', at, '][2]'))) & ((1 << bits) - 1);
    SET answer = IF(bits < 53, JSON_INSERT(answer, CONCAT('$.', JSON_EXTRACT(l, CONCAT('$.fields[', at, '][0]'))), value),
                               JSON_INSERT(answer, CONCAT('$.', JSON_EXTRACT(l, CONCAT('$.fields[', at, '][0]'))), CAST(value AS CHAR)));
    SET at = at + 1;
  END WHILE;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage__read_snowflake //
CREATE FUNCTION mintage__read_snowflake(preset VARCHAR(64) CHARACTER SET ascii, place INT, id BIGINT, now_ts DATETIME(6)) RETURNS LONGTEXT CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE l TEXT CHARACTER SET ascii DEFAULT mintage__layout(preset);
  DECLARE fields LONGTEXT CHARACTER SET utf8mb4 DEFAULT mintage_snowflake_fields(preset, id);
  DECLARE ts DATETIME(6) DEFAULT mintage_snowflake_timestamp(preset, id);
  DECLARE tick_us BIGINT DEFAULT mintage__part(l, 'tick_us');
  DECLARE future INT DEFAULT ts IS NULL OR ts > TIMESTAMPADD(DAY, 1, now_ts);
  DECLARE epoch_us BIGINT DEFAULT mintage__part(l, 'epoch_us');
  -- Since when there are ids of presets whose epoch is older than they, as the library's table says.
  DECLARE since_us BIGINT DEFAULT GREATEST(epoch_us, CASE preset
    WHEN 'mastodon' THEN 1456790400000000
    WHEN 'tso' THEN 1441065600000000
    WHEN 'frostflake' THEN 1577836800000000
    WHEN 'scru64' THEN 1672531200000000
    WHEN 'flake-idgen' THEN 1388534400000000
    WHEN 'linkedin' THEN 1325376000000000
    ELSE epoch_us END);
  DECLARE early INT DEFAULT mintage__field(l, 'time', id) * tick_us < since_us - epoch_us + 2592000000000;
  DECLARE reading LONGTEXT CHARACTER SET utf8mb4;
  IF fields IS NULL THEN
    RETURN NULL;
  END IF;
  SET reading = JSON_OBJECT('format', 'snowflake', 'preset', preset,
    'confidence', ROUND(IF(future, 0.05, IF(early, IF(since_us > epoch_us, 0.04, 0.09), 0.6)) * (1 - place / 50), 4),
    'why', IF(future, 'its time lies in the future', IF(early, IF(since_us > epoch_us,
      'its time lies before there were any', 'its time lies within a month of the layout''s epoch, as any small number'),
                                                                'its time lies between the layout''s epoch and now')));
  RETURN JSON_INSERT(IF(ts IS NULL, reading, mintage__with_time(reading, ts,
    -- As many digits as write every multiple of a tick: 3 for 256 ms.
    CASE WHEN tick_us % 1000000 = 0 THEN 0 WHEN tick_us % 100000 = 0 THEN 1 WHEN tick_us % 10000 = 0 THEN 2 WHEN tick_us % 1000 = 0 THEN 3
         WHEN tick_us % 100 = 0 THEN 4 WHEN tick_us % 10 = 0 THEN 5 ELSE 6 END, 0)), '$.fields', JSON_EXTRACT(fields, '$'));
END //

DROP FUNCTION IF EXISTS mintage__read_ulid //
CREATE FUNCTION mintage__read_ulid(ulid CHAR(26) CHARACTER SET ascii, now_ts DATETIME(6)) RETURNS LONGTEXT CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE hex CHAR(32) CHARACTER SET ascii DEFAULT mintage__hex(mintage_ulid_to_uuid(ulid));
  DECLARE ts DATETIME(6) DEFAULT mintage_ulid_timestamp(ulid);
  DECLARE future INT DEFAULT ts IS NULL OR ts > TIMESTAMPADD(DAY, 1, now_ts);
  DECLARE reading LONGTEXT CHARACTER SET utf8mb4 DEFAULT JSON_OBJECT('format', 'ulid', 'confidence', IF(future, 0.3, 0.9),
    'why', IF(future, '26 digits of Crockford''s base32, but its time lies in the future', '26 digits of Crockford''s base32, and its time is plausible'),
    'fields', JSON_OBJECT('unix_ts_ms', 0 + mintage__number(LEFT(hex, 12)), 'randomness', RIGHT(hex, 20)));
  RETURN IF(ts IS NULL, reading, mintage__with_time(reading, ts, 3, 0));
END //

-- Every way to read an id, the likeliest first, by the names of `mint inspect --json`. now_ts decides how plausible a time is.
DROP FUNCTION IF EXISTS mintage_decode_id_at //
CREATE FUNCTION mintage_decode_id_at(id VARCHAR(4096) CHARACTER SET utf8mb4, now_ts DATETIME(6)) RETURNS LONGTEXT CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE plain VARCHAR(4096) CHARACTER SET utf8mb4 DEFAULT LOWER(TRIM(id));
  DECLARE readings LONGTEXT CHARACTER SET utf8mb4 DEFAULT JSON_ARRAY();
  DECLARE names TEXT CHARACTER SET ascii DEFAULT mintage_snowflake_presets();
  DECLARE reading LONGTEXT CHARACTER SET utf8mb4;
  DECLARE place INT DEFAULT 0;
  DECLARE at INT DEFAULT 0;
  DECLARE number DECIMAL(65, 0);
  DECLARE confidence DOUBLE;
  IF id IS NULL OR now_ts IS NULL THEN
    RETURN NULL;
  END IF;
  IF plain REGEXP '^([0-9a-f]{32}|(urn:uuid:)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[{][0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}[}])$' THEN
    SET readings = JSON_ARRAY(JSON_EXTRACT(mintage__read_uuid(RIGHT(REPLACE(REPLACE(plain, '-', ''), '}', ''), 32), LENGTH(plain) <> 32, now_ts), '$'));
  ELSEIF plain REGEXP '^[0-7][0-9a-hjkmnp-tv-z]{25}$' THEN
    SET readings = JSON_ARRAY(JSON_EXTRACT(mintage__read_ulid(plain, now_ts), '$'));
  ELSEIF plain REGEXP '^(0|[1-9][0-9]{0,19})$' THEN
    SET number = plain;
    IF number < 18446744073709551616 THEN
      -- The likeliest first; of the equally likely, in the presets' own order.
      WHILE at < JSON_LENGTH(names) DO
        SET reading = mintage__read_snowflake(JSON_UNQUOTE(JSON_EXTRACT(names, CONCAT('$[', at, ']'))), at,
          IF(number > 9223372036854775807, number - 18446744073709551616, number), now_ts);
        IF reading IS NOT NULL THEN
          SET confidence = JSON_EXTRACT(reading, '$.confidence');
          SET place = JSON_LENGTH(readings);
          WHILE place > 0 AND CAST(JSON_EXTRACT(readings, CONCAT('$[', place - 1, '].confidence')) AS DOUBLE) < confidence DO
            SET place = place - 1;
          END WHILE;
          SET readings = JSON_ARRAY_INSERT(readings, CONCAT('$[', place, ']'), JSON_EXTRACT(reading, '$'));
        END IF;
        SET at = at + 1;
      END WHILE;
    END IF;
  END IF;
  RETURN JSON_OBJECT('input', id, 'readings', JSON_EXTRACT(readings, '$'));
END //

DROP FUNCTION IF EXISTS mintage_decode_id //
CREATE FUNCTION mintage_decode_id(id VARCHAR(4096) CHARACTER SET utf8mb4) RETURNS LONGTEXT CHARACTER SET utf8mb4
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_decode_id_at(id, mintage__now()) //

