-- Mintage's functions for MariaDB 10.6 and later and MySQL 8, version 1.1, in the current database.
-- Install or upgrade: mariadb DATABASE < mintage.sql. Manual: docs/sql.md.
--
-- UUIDs are text of 36 characters, which a UUID column (MariaDB 10.7) takes as it is and mintage_uuid_to_bin packs into
-- BINARY(16). Times are DATETIME(6) in UTC. Names with two underscores are internal.

SET @mintage_old_sql_mode = @@sql_mode;
SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO';
DELIMITER //

-- Bits -----------------------------------------------------------------------------------------------------------

-- A time that does not fit.
DROP PROCEDURE IF EXISTS mintage__refuse_time //
CREATE PROCEDURE mintage__refuse_time(message VARCHAR(255))
DETERMINISTIC NO SQL SQL SECURITY INVOKER
SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = message //

-- A number that does not fit.
DROP PROCEDURE IF EXISTS mintage__refuse_value //
CREATE PROCEDURE mintage__refuse_value(message VARCHAR(255))
DETERMINISTIC NO SQL SQL SECURITY INVOKER
SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = message //

-- Not what the function reads.
DROP PROCEDURE IF EXISTS mintage__refuse_uuid //
CREATE PROCEDURE mintage__refuse_uuid(message VARCHAR(255))
DETERMINISTIC NO SQL SQL SECURITY INVOKER
SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = message //

-- The 32 digits of a UUID, with or without hyphens; NULL if it is none.
DROP FUNCTION IF EXISTS mintage__hex //
CREATE FUNCTION mintage__hex(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(32) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE WHEN id REGEXP '^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32})$'
            THEN LOWER(REPLACE(id, '-', '')) END //

DROP FUNCTION IF EXISTS mintage__uuid //
CREATE FUNCTION mintage__uuid(hex CHAR(32) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN LOWER(CONCAT(LEFT(hex, 8), '-', SUBSTR(hex, 9, 4), '-', SUBSTR(hex, 13, 4), '-', SUBSTR(hex, 17, 4), '-', RIGHT(hex, 12))) //

DROP FUNCTION IF EXISTS mintage__pair //
CREATE FUNCTION mintage__pair(hi BIGINT UNSIGNED, lo BIGINT UNSIGNED) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid(CONCAT(LPAD(HEX(hi), 16, '0'), LPAD(HEX(lo), 16, '0'))) //

DROP FUNCTION IF EXISTS mintage__number //
CREATE FUNCTION mintage__number(hex VARCHAR(16) CHARACTER SET ascii) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CAST(CONV(hex, 16, 10) AS UNSIGNED) //

-- A hash as a UUID: the first 16 bytes, then version and variant over them.
DROP FUNCTION IF EXISTS mintage__stamped //
CREATE FUNCTION mintage__stamped(bytes VARBINARY(64), version INT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid(CONCAT(LEFT(HEX(bytes), 12), version, SUBSTR(HEX(bytes), 14, 3),
                             HEX((ORD(SUBSTR(bytes, 9, 1)) & 63) | 128), SUBSTR(HEX(bytes), 19, 14))) //

-- The version, if the variant is RFC 9562's; else NULL.
DROP FUNCTION IF EXISTS mintage__version //
CREATE FUNCTION mintage__version(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE WHEN SUBSTR(mintage__hex(id), 17, 1) IN ('8', '9', 'a', 'b') THEN CONV(SUBSTR(mintage__hex(id), 13, 1), 16, 10) END //

-- The first half of a version 1 or 6 UUID, and back.
DROP FUNCTION IF EXISTS mintage__v1_hi //
CREATE FUNCTION mintage__v1_hi(ticks BIGINT UNSIGNED) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN ((ticks & 4294967295) << 32) | ((ticks >> 16) & 4294901760) | 4096 | (ticks >> 48) //

DROP FUNCTION IF EXISTS mintage__v6_hi //
CREATE FUNCTION mintage__v6_hi(ticks BIGINT UNSIGNED) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN ((ticks >> 12) << 16) | 24576 | (ticks & 4095) //

DROP FUNCTION IF EXISTS mintage__hi //
CREATE FUNCTION mintage__hi(id VARCHAR(64) CHARACTER SET ascii) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__number(LEFT(mintage__hex(id), 16)) //

DROP FUNCTION IF EXISTS mintage__lo //
CREATE FUNCTION mintage__lo(id VARCHAR(64) CHARACTER SET ascii) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__number(RIGHT(mintage__hex(id), 16)) //

-- The time so many microseconds after 1582-10-15; NULL past the year 9999, where DATETIME ends.
DROP FUNCTION IF EXISTS mintage__at //
CREATE FUNCTION mintage__at(us BIGINT) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE WHEN us <= 265621593599999999 THEN TIMESTAMPADD(MICROSECOND, us, TIMESTAMP'1582-10-15 00:00:00.000000') END //

DROP FUNCTION IF EXISTS mintage__mac //
CREATE FUNCTION mintage__mac(mac VARCHAR(64) CHARACTER SET ascii) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF mac REGEXP '^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$|^([0-9a-fA-F]{2}-){5}[0-9a-fA-F]{2}$|^[0-9a-fA-F]{12}$' THEN
    RETURN mintage__number(REPLACE(REPLACE(mac, ':', ''), '-', ''));
  ELSEIF mac IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', mac, ''' is no node: six octets are, as 9f:6b:de:ce:d8:46'));
  END IF;
  RETURN NULL;
END //

-- 100 ns ticks since 1582-10-15 of a time, or 22008. The difference is one of integers.
DROP FUNCTION IF EXISTS mintage__ticks //
CREATE FUNCTION mintage__ticks(ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF ts < TIMESTAMP'1582-10-15 00:00:00' OR ts > TIMESTAMP'5236-03-31 21:21:00.684697' THEN
    CALL mintage__refuse_time(CONCAT('time ', ts, ' does not fit a uuid of version 1 or 6: the range is 1582-10-15 00:00:00 to 5236-03-31 21:21:00.684697'));
  END IF;
  RETURN TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1582-10-15 00:00:00', ts) * 10;
END //

-- Microseconds since 1970 of a time, or 22008.
DROP FUNCTION IF EXISTS mintage__unix_us //
CREATE FUNCTION mintage__unix_us(what VARCHAR(40), ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF ts < TIMESTAMP'1970-01-01 00:00:00' THEN
    CALL mintage__refuse_time(CONCAT('time ', ts, ' does not fit ', what, ': the range is 1970-01-01 00:00:00 to 9999-12-31 23:59:59.999999'));
  END IF;
  RETURN TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', ts);
END //

-- Now, in UTC, whatever the session's time zone. UTC_TIMESTAMP is the statement's start: SYSDATE says how long ago that was.
DROP FUNCTION IF EXISTS mintage__now //
CREATE FUNCTION mintage__now() RETURNS DATETIME(6)
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN TIMESTAMPADD(MICROSECOND, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)), UTC_TIMESTAMP(6)) //

-- Random bytes from the cryptographic generator: MySQL, and MariaDB since 10.10. Before that MariaDB has none, and a hash of
-- RAND() and UUID() stands in: unlikely to repeat, but NOT unpredictable.
DROP FUNCTION IF EXISTS mintage__random //
CREATE FUNCTION mintage__random(n INT) RETURNS VARBINARY(64)
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF VERSION() NOT LIKE '%MariaDB%' THEN
    RETURN RANDOM_BYTES(n);
  END IF;
  RETURN LEFT(UNHEX(SHA2(CONCAT(UUID(), RAND(), RAND(), CONNECTION_ID(), SYSDATE(6), UUID()), 512)), n);
END //

/*M!101001 CREATE OR REPLACE FUNCTION mintage__random(n INT) RETURNS VARBINARY(64)
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN RANDOM_BYTES(n) */ //

-- Variant and 62 random bits.
DROP FUNCTION IF EXISTS mintage__random_lo //
CREATE FUNCTION mintage__random_lo() RETURNS BIGINT UNSIGNED
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN (mintage__number(HEX(mintage__random(8))) & 4611686018427387903) | (1 << 63) //

-- Variant and 62 bits of a key's SHA-256.
DROP FUNCTION IF EXISTS mintage__hash_lo //
CREATE FUNCTION mintage__hash_lo(`key` LONGTEXT CHARACTER SET utf8mb4) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN (mintage__number(LEFT(SHA2(`key`, 256), 16)) & 4611686018427387903) | (1 << 63) //


-- Reading: NULL for what the function does not read; the _strict twin raises 22023 -------------------------------

DROP FUNCTION IF EXISTS mintage_uuid_variant //
CREATE FUNCTION mintage_uuid_variant(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(9) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'rfc9562, ncs, microsoft, future'
RETURN CASE WHEN SUBSTR(mintage__hex(id), 17, 1) < '8' THEN 'ncs' WHEN SUBSTR(mintage__hex(id), 17, 1) < 'c' THEN 'rfc9562'
            WHEN SUBSTR(mintage__hex(id), 17, 1) < 'e' THEN 'microsoft' WHEN mintage__hex(id) IS NOT NULL THEN 'future' END //

DROP FUNCTION IF EXISTS mintage_uuid_version //
CREATE FUNCTION mintage_uuid_version(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'NULL for other variants'
RETURN mintage__version(id) //

-- Ticks of 100 ns since 1582-10-15, of versions 1 and 6.
DROP FUNCTION IF EXISTS mintage_uuid_ticks //
CREATE FUNCTION mintage_uuid_ticks(id VARCHAR(64) CHARACTER SET ascii) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'ticks of 100 ns since 1582-10-15, versions 1 and 6'
RETURN CASE mintage__version(id)
  WHEN 1 THEN mintage__number(CONCAT(SUBSTR(mintage__hex(id), 14, 3), SUBSTR(mintage__hex(id), 9, 4), LEFT(mintage__hex(id), 8)))
  WHEN 6 THEN mintage__number(CONCAT(LEFT(mintage__hex(id), 12), SUBSTR(mintage__hex(id), 14, 3))) END //

-- What mintage_uuid_timestamp floors away: 0 to 9 ticks.
DROP FUNCTION IF EXISTS mintage_uuid_timestamp_100ns //
CREATE FUNCTION mintage_uuid_timestamp_100ns(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the 0 to 9 ticks that a timestamptz leaves out'
RETURN mintage_uuid_ticks(id) % 10 //

-- The time of a version 1 uuid, floored to the microsecond.
DROP FUNCTION IF EXISTS mintage_uuid_v1_timestamp //
CREATE FUNCTION mintage_uuid_v1_timestamp(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, NULL for other versions'
RETURN CASE mintage__version(id) WHEN 1 THEN mintage__at(mintage_uuid_ticks(id) DIV 10) END //

DROP FUNCTION IF EXISTS mintage_uuid_v6_timestamp //
CREATE FUNCTION mintage_uuid_v6_timestamp(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, NULL for other versions'
RETURN CASE mintage__version(id) WHEN 6 THEN mintage__at(mintage_uuid_ticks(id) DIV 10) END //

-- The time of a version 7 uuid, in milliseconds.
DROP FUNCTION IF EXISTS mintage_uuid_v7_timestamp //
CREATE FUNCTION mintage_uuid_v7_timestamp(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, NULL for other versions'
RETURN CASE mintage__version(id) WHEN 7 THEN mintage__at(mintage__number(LEFT(mintage__hex(id), 12)) * 1000 + 12219292800000000) END //

-- The same to the microsecond, if rand_a was made as a 12-bit fraction of the millisecond. Rounds up, as making floors.
DROP FUNCTION IF EXISTS mintage_uuid_v7_timestamp_submilli //
CREATE FUNCTION mintage_uuid_v7_timestamp_submilli(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'to the microsecond, if made so'
RETURN CASE mintage__version(id) WHEN 7 THEN mintage__at(mintage__number(LEFT(mintage__hex(id), 12)) * 1000 + 12219292800000000
  + LEAST(999, (mintage__number(SUBSTR(mintage__hex(id), 14, 3)) * 1000 + 4095) DIV 4096)) END //

-- The time of a uuid of version 1, 6 or 7.
DROP FUNCTION IF EXISTS mintage_uuid_timestamp //
CREATE FUNCTION mintage_uuid_timestamp(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time of version 1, 6 or 7'
RETURN CASE mintage__version(id) WHEN 7 THEN mintage_uuid_v7_timestamp(id) ELSE mintage__at(mintage_uuid_ticks(id) DIV 10) END //

DROP FUNCTION IF EXISTS mintage_uuid_node //
CREATE FUNCTION mintage_uuid_node(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(17) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the node of version 1, 2 or 6'
RETURN CASE WHEN mintage__version(id) IN (1, 2, 6) THEN CONCAT_WS(':', SUBSTR(mintage__hex(id), 21, 2), SUBSTR(mintage__hex(id), 23, 2),
  SUBSTR(mintage__hex(id), 25, 2), SUBSTR(mintage__hex(id), 27, 2), SUBSTR(mintage__hex(id), 29, 2), SUBSTR(mintage__hex(id), 31, 2)) END //

DROP FUNCTION IF EXISTS mintage_uuid_clock_seq //
CREATE FUNCTION mintage_uuid_clock_seq(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'of version 1 or 6'
RETURN CASE WHEN mintage__version(id) IN (1, 6) THEN mintage__number(SUBSTR(mintage__hex(id), 17, 4)) & 16383 END //

-- Version 1 and version 6 hold the same bits in another order; nothing is lost either way.
DROP FUNCTION IF EXISTS mintage_uuid_v1_to_v6 //
CREATE FUNCTION mintage_uuid_v1_to_v6(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the same bits in the other order'
RETURN CASE mintage__version(id) WHEN 1 THEN mintage__pair(mintage__v6_hi(mintage_uuid_ticks(id)), mintage__lo(id)) END //

DROP FUNCTION IF EXISTS mintage_uuid_v6_to_v1 //
CREATE FUNCTION mintage_uuid_v6_to_v1(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the same bits in the other order'
RETURN CASE mintage__version(id) WHEN 6 THEN mintage__pair(mintage__v1_hi(mintage_uuid_ticks(id)), mintage__lo(id)) END //

DROP FUNCTION IF EXISTS mintage_uuid_version_strict //
CREATE FUNCTION mintage_uuid_version_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'NULL for other variants; an error where the plain one answers NULL'
BEGIN
  DECLARE answer INT DEFAULT mintage_uuid_version(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of the RFC 9562 variant'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_ticks_strict //
CREATE FUNCTION mintage_uuid_ticks_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'ticks of 100 ns since 1582-10-15, versions 1 and 6; an error where the plain one answers NULL'
BEGIN
  DECLARE answer BIGINT UNSIGNED DEFAULT mintage_uuid_ticks(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1 or 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_timestamp_100ns_strict //
CREATE FUNCTION mintage_uuid_timestamp_100ns_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the 0 to 9 ticks that a timestamptz leaves out; an error where the plain one answers NULL'
BEGIN
  DECLARE answer INT DEFAULT mintage_uuid_timestamp_100ns(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1 or 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v1_timestamp_strict //
CREATE FUNCTION mintage_uuid_v1_timestamp_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, NULL for other versions; an error where the plain one answers NULL'
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_v1_timestamp(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v6_timestamp_strict //
CREATE FUNCTION mintage_uuid_v6_timestamp_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, NULL for other versions; an error where the plain one answers NULL'
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_v6_timestamp(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v7_timestamp_strict //
CREATE FUNCTION mintage_uuid_v7_timestamp_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, NULL for other versions; an error where the plain one answers NULL'
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_v7_timestamp(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 7 and before the year 10000'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v7_timestamp_submilli_strict //
CREATE FUNCTION mintage_uuid_v7_timestamp_submilli_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'to the microsecond, if made so; an error where the plain one answers NULL'
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_v7_timestamp_submilli(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 7 and before the year 10000'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_timestamp_strict //
CREATE FUNCTION mintage_uuid_timestamp_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time of version 1, 6 or 7; an error where the plain one answers NULL'
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_timestamp(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1, 6 or 7'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_node_strict //
CREATE FUNCTION mintage_uuid_node_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(17) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the node of version 1, 2 or 6; an error where the plain one answers NULL'
BEGIN
  DECLARE answer CHAR(17) CHARACTER SET ascii DEFAULT mintage_uuid_node(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1, 2 or 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_clock_seq_strict //
CREATE FUNCTION mintage_uuid_clock_seq_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'of version 1 or 6; an error where the plain one answers NULL'
BEGIN
  DECLARE answer INT DEFAULT mintage_uuid_clock_seq(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1 or 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v1_to_v6_strict //
CREATE FUNCTION mintage_uuid_v1_to_v6_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the same bits in the other order; an error where the plain one answers NULL'
BEGIN
  DECLARE answer CHAR(36) CHARACTER SET ascii DEFAULT mintage_uuid_v1_to_v6(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v6_to_v1_strict //
CREATE FUNCTION mintage_uuid_v6_to_v1_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the same bits in the other order; an error where the plain one answers NULL'
BEGIN
  DECLARE answer CHAR(36) CHARACTER SET ascii DEFAULT mintage_uuid_v6_to_v1(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 6'));
  END IF;
  RETURN answer;
END //


-- Versions 1 and 6 ------------------------------------------------------------------------------------------------

DROP FUNCTION IF EXISTS mintage__gregorian //
CREATE FUNCTION mintage__gregorian(version INT, ticks BIGINT, clock_seq INT, node BIGINT UNSIGNED) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF clock_seq < 0 OR clock_seq > 16383 THEN
    CALL mintage__refuse_value(CONCAT('clock sequence ', clock_seq, ' does not fit: 14 bits, 0 to 16383'));
  ELSEIF ticks < 0 OR ticks > 1152921504606846975 THEN
    CALL mintage__refuse_value(CONCAT('no id is left: ', ticks, ' ticks do not fit 60 bits, 0 to 1152921504606846975'));
  END IF;
  RETURN mintage__pair(CASE version WHEN 1 THEN mintage__v1_hi(ticks) ELSE mintage__v6_hi(ticks) END,
                       (1 << 63) | (CAST(clock_seq AS UNSIGNED) << 48) | node);
END //

-- Row n of a microsecond: (tick, clock sequence) counted as one number from (0, clock_seq), so ids rise with n.
DROP FUNCTION IF EXISTS mintage__nth //
CREATE FUNCTION mintage__nth(version INT, ts DATETIME(6), clock_seq INT, node BIGINT UNSIGNED, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF n < 0 OR n > 163839 OR clock_seq BETWEEN 0 AND 16383 AND n + clock_seq > 163839 THEN
    CALL mintage__refuse_value(CONCAT('no id is left for row ', n, ' of ', ts, ': rows 0 to ', 163839 - clock_seq, ' of one microsecond and node fit'));
  ELSEIF clock_seq BETWEEN 0 AND 16383 THEN
    RETURN mintage__gregorian(version, mintage__ticks(ts) + ((n + clock_seq) DIV 16384), (n + clock_seq) % 16384, node);
  END IF;
  RETURN mintage__gregorian(version, mintage__ticks(ts), clock_seq, node);
END //

-- From everything given, exact to the microsecond.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1 //
CREATE FUNCTION mintage_form_uuid_v1(ts DATETIME(6), clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from everything given, exact'
RETURN mintage__gregorian(1, mintage__ticks(ts), clock_seq, mintage__mac(mac)) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6 //
CREATE FUNCTION mintage_form_uuid_v6(ts DATETIME(6), clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from everything given, exact'
RETURN mintage__gregorian(6, mintage__ticks(ts), clock_seq, mintage__mac(mac)) //

-- Back-fill: row n (0, 1, ...) of one microsecond.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1_nth //
CREATE FUNCTION mintage_form_uuid_v1_nth(ts DATETIME(6), clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from everything given, exact, row n of one microsecond'
RETURN mintage__nth(1, ts, clock_seq, mintage__mac(mac), n) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6_nth //
CREATE FUNCTION mintage_form_uuid_v6_nth(ts DATETIME(6), clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from everything given, exact, row n of one microsecond'
RETURN mintage__nth(6, ts, clock_seq, mintage__mac(mac), n) //

-- Of ticks of 100 ns since 1582-10-15.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1_ticks //
CREATE FUNCTION mintage_form_uuid_v1_ticks(ticks BIGINT, clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'of ticks of 100 ns since 1582-10-15'
RETURN mintage__gregorian(1, ticks, clock_seq, mintage__mac(mac)) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6_ticks //
CREATE FUNCTION mintage_form_uuid_v6_ticks(ticks BIGINT, clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'of ticks of 100 ns since 1582-10-15'
RETURN mintage__gregorian(6, ticks, clock_seq, mintage__mac(mac)) //

-- Repeatable: clock sequence and node (multicast bit set) are the SHA-256 of a key.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1_keyed //
CREATE FUNCTION mintage_form_uuid_v1_keyed(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'repeatable: the other bits from the key''s SHA-256'
RETURN mintage__pair(mintage__v1_hi(mintage__ticks(ts)), mintage__hash_lo(`key`) | 1099511627776) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6_keyed //
CREATE FUNCTION mintage_form_uuid_v6_keyed(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'repeatable: the other bits from the key''s SHA-256'
RETURN mintage__pair(mintage__v6_hi(mintage__ticks(ts)), mintage__hash_lo(`key`) | 1099511627776) //

-- Repeatable and counted: the node is the hash of a key, n counts its rows of one microsecond.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1_keyed_nth //
CREATE FUNCTION mintage_form_uuid_v1_keyed_nth(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'repeatable: the other bits from the key''s SHA-256, row n of one microsecond'
RETURN mintage__nth(1, ts, 0, (mintage__hash_lo(`key`) | 1099511627776) & 281474976710655, n) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6_keyed_nth //
CREATE FUNCTION mintage_form_uuid_v6_keyed_nth(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'repeatable: the other bits from the key''s SHA-256, row n of one microsecond'
RETURN mintage__nth(6, ts, 0, (mintage__hash_lo(`key`) | 1099511627776) & 281474976710655, n) //

-- At a time; clock sequence and node (multicast bit set) are random.
DROP FUNCTION IF EXISTS mintage_uuid_v1_at //
CREATE FUNCTION mintage_uuid_v1_at(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'now; random clock sequence and node, of a time'
RETURN mintage__pair(mintage__v1_hi(mintage__ticks(ts)), mintage__random_lo() | 1099511627776) //

DROP FUNCTION IF EXISTS mintage_uuid_v6_at //
CREATE FUNCTION mintage_uuid_v6_at(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'now; random clock sequence and node, of a time'
RETURN mintage__pair(mintage__v6_hi(mintage__ticks(ts)), mintage__random_lo() | 1099511627776) //

-- Now.
DROP FUNCTION IF EXISTS mintage_uuid_v1 //
CREATE FUNCTION mintage_uuid_v1() RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'now; random clock sequence and node'
RETURN mintage_uuid_v1_at(mintage__now()) //

DROP FUNCTION IF EXISTS mintage_uuid_v6 //
CREATE FUNCTION mintage_uuid_v6() RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'now; random clock sequence and node'
RETURN mintage_uuid_v6_at(mintage__now()) //

-- The smallest and the largest id of one microsecond.
DROP FUNCTION IF EXISTS mintage_uuid_v1_min //
CREATE FUNCTION mintage_uuid_v1_min(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'smallest id of that time'
RETURN mintage__pair(mintage__v1_hi(mintage__ticks(ts)), 1 << 63) //

DROP FUNCTION IF EXISTS mintage_uuid_v1_max //
CREATE FUNCTION mintage_uuid_v1_max(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'largest id of that time'
RETURN mintage__pair(mintage__v1_hi(LEAST(mintage__ticks(ts), 1152921504606846966) + 9), 13835058055282163711) //

DROP FUNCTION IF EXISTS mintage_uuid_v6_min //
CREATE FUNCTION mintage_uuid_v6_min(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'smallest id of that time'
RETURN mintage__pair(mintage__v6_hi(mintage__ticks(ts)), 1 << 63) //

DROP FUNCTION IF EXISTS mintage_uuid_v6_max //
CREATE FUNCTION mintage_uuid_v6_max(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'largest id of that time'
RETURN mintage__pair(mintage__v6_hi(LEAST(mintage__ticks(ts), 1152921504606846966) + 9), 13835058055282163711) //

-- The largest id of an event before a time: BETWEEN mintage_uuid_v6_min(a) AND mintage_uuid_v6_before(b) is half-open.
DROP FUNCTION IF EXISTS mintage_uuid_v6_before //
CREATE FUNCTION mintage_uuid_v6_before(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'now; random clock sequence and node, the upper end of a half-open range'
RETURN mintage__pair(mintage__v6_hi(mintage__ticks(ts) - 1), 13835058055282163711) //


-- Versions 4, 7 and 8 ---------------------------------------------------------------------------------------------

DROP FUNCTION IF EXISTS mintage_uuid_v4 //
CREATE FUNCTION mintage_uuid_v4() RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT '122 random bits'
RETURN mintage__stamped(mintage__random(16), 4) //

DROP FUNCTION IF EXISTS mintage__v7_hi //
CREATE FUNCTION mintage__v7_hi(us BIGINT) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN ((us DIV 1000) << 16) | 28672 | ((us % 1000) * 4096 DIV 1000) //

-- At a time, rounded down to the millisecond; 74 random bits.
DROP FUNCTION IF EXISTS mintage_uuid_v7_at //
CREATE FUNCTION mintage_uuid_v7_at(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'at a time, to the millisecond, 74 random bits, of a time'
RETURN mintage__pair(((mintage__unix_us('a uuid of version 7', ts) DIV 1000) << 16) | 28672 | (mintage__number(HEX(mintage__random(2))) & 4095),
                     mintage__random_lo()) //

-- At a time, to the microsecond; 62 random bits.
DROP FUNCTION IF EXISTS mintage_uuid_v7_submilli //
CREATE FUNCTION mintage_uuid_v7_submilli(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'at a time, to the microsecond, 62 random bits'
RETURN mintage__pair(mintage__v7_hi(mintage__unix_us('a uuid of version 7', ts)), mintage__random_lo()) //

-- Now, to the microsecond. Written out, since every call of a stored function costs some microseconds.
DROP FUNCTION IF EXISTS mintage_uuid_v7 //
CREATE FUNCTION mintage_uuid_v7() RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'at a time, to the millisecond, 74 random bits'
BEGIN
  DECLARE us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))
                            + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6));
  DECLARE ms CHAR(12) CHARACTER SET ascii DEFAULT LPAD(HEX(us DIV 1000), 12, '0');
  DECLARE random CHAR(16) CHARACTER SET ascii DEFAULT HEX(mintage__random(8));
  RETURN LOWER(CONCAT(LEFT(ms, 8), '-', RIGHT(ms, 4), '-7', LPAD(HEX((us % 1000) * 4096 DIV 1000), 3, '0'), '-',
                      SUBSTR('89AB', 1 + (CONV(LEFT(random, 1), 16, 10) & 3), 1), SUBSTR(random, 2, 3), '-', RIGHT(random, 12)));
END //

-- Now, moved by so many seconds.
DROP FUNCTION IF EXISTS mintage_uuid_v7_shift //
CREATE FUNCTION mintage_uuid_v7_shift(seconds DECIMAL(20, 6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'now, moved'
RETURN mintage_uuid_v7_submilli(TIMESTAMPADD(MICROSECOND, CAST(seconds * 1000000 AS SIGNED), mintage__now())) //

-- Milliseconds 48, fraction 12, n 18 bits, then 44 others: ids rise with (ts, n).
DROP FUNCTION IF EXISTS mintage__form_v7 //
CREATE FUNCTION mintage__form_v7(ts DATETIME(6), n BIGINT, below BIGINT UNSIGNED) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF n < 0 OR n > 262143 THEN
    CALL mintage__refuse_value(CONCAT('no id is left for row ', n, ' of ', ts, ': rows 0 to 262143 of one microsecond fit'));
  END IF;
  RETURN mintage__pair(mintage__v7_hi(mintage__unix_us('a uuid of version 7', ts)), (1 << 63) | (CAST(n AS UNSIGNED) << 44) | (below & 17592186044415));
END //

-- Back-fill: row n of one microsecond; the 44 bits below n are random.
DROP FUNCTION IF EXISTS mintage_form_uuid_v7 //
CREATE FUNCTION mintage_form_uuid_v7(ts DATETIME(6), n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'row n of one microsecond, 44 random bits'
RETURN mintage__form_v7(ts, n, mintage__random_lo()) //

DROP FUNCTION IF EXISTS mintage__hash64 //
CREATE FUNCTION mintage__hash64(`key` LONGTEXT CHARACTER SET utf8mb4) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__number(LEFT(SHA2(`key`, 256), 16)) //

-- Repeatable: the 44 bits below n are the SHA-256 of a key.
DROP FUNCTION IF EXISTS mintage_form_uuid_v7_keyed_nth //
CREATE FUNCTION mintage_form_uuid_v7_keyed_nth(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'repeatable: row n of one microsecond, node or low bits from the key, row n of one microsecond'
RETURN mintage__form_v7(ts, n, mintage__hash64(`key`)) //

-- Repeatable: all 62 bits below the fraction are the SHA-256 of a key, which should name the row.
DROP FUNCTION IF EXISTS mintage_form_uuid_v7_keyed //
CREATE FUNCTION mintage_form_uuid_v7_keyed(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'repeatable: row n of one microsecond, node or low bits from the key'
RETURN mintage__pair(mintage__v7_hi(mintage__unix_us('a uuid of version 7', ts)), mintage__hash_lo(`key`)) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v7_fields //
CREATE FUNCTION mintage_form_uuid_v7_fields(unix_ts_ms BIGINT, rand_a INT, rand_b BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'of every field'
BEGIN
  IF unix_ts_ms < 0 OR unix_ts_ms > 281474976710655 OR rand_a < 0 OR rand_a > 4095 OR rand_b < 0 OR rand_b > 4611686018427387903 THEN
    CALL mintage__refuse_value(CONCAT('unix_ts_ms ', unix_ts_ms, ', rand_a ', rand_a, ', rand_b ', rand_b, ' do not fit: 48, 12 and 62 bits'));
  END IF;
  RETURN mintage__pair((CAST(unix_ts_ms AS UNSIGNED) << 16) | 28672 | rand_a, rand_b | (1 << 63));
END //

DROP FUNCTION IF EXISTS mintage_uuid_v8_fields //
CREATE FUNCTION mintage_uuid_v8_fields(custom_a BIGINT, custom_b INT, custom_c BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT '16 bytes of your own, of every field'
BEGIN
  IF custom_a < 0 OR custom_a > 281474976710655 OR custom_b < 0 OR custom_b > 4095 OR custom_c < 0 OR custom_c > 4611686018427387903 THEN
    CALL mintage__refuse_value(CONCAT('custom_a ', custom_a, ', custom_b ', custom_b, ', custom_c ', custom_c, ' do not fit: 48, 12 and 62 bits'));
  END IF;
  RETURN mintage__pair((CAST(custom_a AS UNSIGNED) << 16) | 32768 | custom_b, custom_c | (1 << 63));
END //

-- Version 8: bytes of your own; only version and variant are written over.
DROP FUNCTION IF EXISTS mintage_uuid_v8 //
CREATE FUNCTION mintage_uuid_v8(custom VARBINARY(64)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT '16 bytes of your own'
BEGIN
  IF LENGTH(custom) <> 16 THEN
    CALL mintage__refuse_uuid(CONCAT('a version 8 uuid has 16 bytes, found ', LENGTH(custom)));
  END IF;
  RETURN mintage__stamped(custom, 8);
END //

-- The smallest and the largest id of the millisecond of a time.
DROP FUNCTION IF EXISTS mintage_uuid_v7_min //
CREATE FUNCTION mintage_uuid_v7_min(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'smallest id of that time'
RETURN mintage__pair(((mintage__unix_us('a uuid of version 7', ts) DIV 1000) << 16) | 28672, 1 << 63) //

DROP FUNCTION IF EXISTS mintage_uuid_v7_max //
CREATE FUNCTION mintage_uuid_v7_max(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'largest id of that time'
RETURN mintage__pair(((mintage__unix_us('a uuid of version 7', ts) DIV 1000) << 16) | 32767, 13835058055282163711) //

-- The largest id of an event before a time: BETWEEN mintage_uuid_v7_min(a) AND mintage_uuid_v7_before(b) is half-open.
DROP FUNCTION IF EXISTS mintage_uuid_v7_before //
CREATE FUNCTION mintage_uuid_v7_before(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'at a time, to the millisecond, 74 random bits, the upper end of a half-open range'
RETURN mintage_uuid_v7_max(TIMESTAMPADD(MICROSECOND, -1, ts)) //


-- Versions 3, 5 and 8 from names; nil and max; MySQL's byte swap --------------------------------------------------

DROP FUNCTION IF EXISTS mintage_uuid_nil //
CREATE FUNCTION mintage_uuid_nil() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the constant'
RETURN '00000000-0000-0000-0000-000000000000' //

DROP FUNCTION IF EXISTS mintage_uuid_max //
CREATE FUNCTION mintage_uuid_max() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the constant'
RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff' //

DROP FUNCTION IF EXISTS mintage_ns_dns //
CREATE FUNCTION mintage_ns_dns() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the namespace'
RETURN '6ba7b810-9dad-11d1-80b4-00c04fd430c8' //

DROP FUNCTION IF EXISTS mintage_ns_url //
CREATE FUNCTION mintage_ns_url() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the namespace'
RETURN '6ba7b811-9dad-11d1-80b4-00c04fd430c8' //

DROP FUNCTION IF EXISTS mintage_ns_oid //
CREATE FUNCTION mintage_ns_oid() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the namespace'
RETURN '6ba7b812-9dad-11d1-80b4-00c04fd430c8' //

DROP FUNCTION IF EXISTS mintage_ns_x500 //
CREATE FUNCTION mintage_ns_x500() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the namespace'
RETURN '6ba7b814-9dad-11d1-80b4-00c04fd430c8' //

DROP FUNCTION IF EXISTS mintage__space //
CREATE FUNCTION mintage__space(namespace VARCHAR(64) CHARACTER SET ascii) RETURNS BINARY(16)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF mintage__hex(namespace) IS NULL AND namespace IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', namespace, ''' is not a uuid'));
  END IF;
  RETURN UNHEX(mintage__hex(namespace));
END //

-- Of a name's bytes as they are.
DROP FUNCTION IF EXISTS mintage_uuid_v3_bytes //
CREATE FUNCTION mintage_uuid_v3_bytes(namespace VARCHAR(64) CHARACTER SET ascii, name LONGBLOB) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from a name; a text is taken as UTF-8, of bytes'
RETURN mintage__stamped(UNHEX(MD5(CONCAT(mintage__space(namespace), name))), 3) //

DROP FUNCTION IF EXISTS mintage_uuid_v5_bytes //
CREATE FUNCTION mintage_uuid_v5_bytes(namespace VARCHAR(64) CHARACTER SET ascii, name LONGBLOB) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from a name; a text is taken as UTF-8, of bytes'
RETURN mintage__stamped(UNHEX(SHA1(CONCAT(mintage__space(namespace), name))), 5) //

DROP FUNCTION IF EXISTS mintage_uuid_v8_sha256_bytes //
CREATE FUNCTION mintage_uuid_v8_sha256_bytes(namespace VARCHAR(64) CHARACTER SET ascii, name LONGBLOB) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from a name, RFC 9562 B.2, of bytes'
RETURN mintage__stamped(UNHEX(SHA2(CONCAT(mintage__space(namespace), name), 256)), 8) //

-- Of a name's UTF-8, whatever the connection's character set; nothing is folded or trimmed.
DROP FUNCTION IF EXISTS mintage_uuid_v3 //
CREATE FUNCTION mintage_uuid_v3(namespace VARCHAR(64) CHARACTER SET ascii, name LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from a name; a text is taken as UTF-8'
RETURN mintage_uuid_v3_bytes(namespace, CAST(name AS BINARY)) //

DROP FUNCTION IF EXISTS mintage_uuid_v5 //
CREATE FUNCTION mintage_uuid_v5(namespace VARCHAR(64) CHARACTER SET ascii, name LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from a name; a text is taken as UTF-8'
RETURN mintage_uuid_v5_bytes(namespace, CAST(name AS BINARY)) //

DROP FUNCTION IF EXISTS mintage_uuid_v8_sha256 //
CREATE FUNCTION mintage_uuid_v8_sha256(namespace VARCHAR(64) CHARACTER SET ascii, name LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from a name, RFC 9562 B.2'
RETURN mintage_uuid_v8_sha256_bytes(namespace, CAST(name AS BINARY)) //

-- MySQL's UUID_TO_BIN and BIN_TO_UUID: with swap, time_hi and time_low change places, so that version 1 sorts by time. Versions
-- 6 and 7 sort by time without, and no longer do with it.
DROP FUNCTION IF EXISTS mintage_uuid_to_bin //
CREATE FUNCTION mintage_uuid_to_bin(id VARCHAR(64) CHARACTER SET ascii, swap INT) RETURNS BINARY(16)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'see docs/sql.md'
BEGIN
  DECLARE hex CHAR(32) CHARACTER SET ascii DEFAULT mintage__hex(id);
  IF hex IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid'));
  END IF;
  RETURN UNHEX(IF(swap, CONCAT(SUBSTR(hex, 13, 4), SUBSTR(hex, 9, 4), LEFT(hex, 8), RIGHT(hex, 16)), hex));
END //

DROP FUNCTION IF EXISTS mintage_bin_to_uuid //
CREATE FUNCTION mintage_bin_to_uuid(id VARBINARY(64), swap INT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'see docs/sql.md'
BEGIN
  IF LENGTH(id) <> 16 THEN
    CALL mintage__refuse_uuid(CONCAT('a uuid has 16 bytes, found ', LENGTH(id)));
  END IF;
  RETURN mintage__uuid(IF(swap, CONCAT(SUBSTR(HEX(id), 9, 8), SUBSTR(HEX(id), 5, 4), LEFT(HEX(id), 4), RIGHT(HEX(id), 16)), HEX(id)));
END //


-- Text forms: fixed width, zeros in front, so text sorts as the ids do (in a binary collation) ---------------------

-- A number in exactly so many digits of an alphabet.
DROP FUNCTION IF EXISTS mintage__digits //
CREATE FUNCTION mintage__digits(value DECIMAL(65, 0), alphabet VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, width INT) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE base INT DEFAULT LENGTH(alphabet);
  DECLARE digit INT;
  DECLARE rest DECIMAL(65, 0) DEFAULT value;
  DECLARE answer VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT '';
  IF value IS NULL THEN
    RETURN NULL;
  END IF;
  WHILE LENGTH(answer) < width DO
    SET digit = MOD(rest, base);
    -- Exact: what is divided is a multiple.
    SET rest = (rest - digit) / base;
    SET answer = CONCAT(SUBSTR(alphabet, digit + 1, 1), answer);
  END WHILE;
  RETURN answer;
END //

-- The number behind a text of exactly so many digits, smaller than a bound; else 22023.
DROP FUNCTION IF EXISTS mintage__undigits //
CREATE FUNCTION mintage__undigits(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin, alphabet VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, width INT, bound DECIMAL(65, 0), what VARCHAR(40)) RETURNS DECIMAL(65, 0)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer DECIMAL(65, 0) DEFAULT 0;
  DECLARE at INT DEFAULT 1;
  DECLARE digit INT;
  IF digits IS NULL THEN
    RETURN NULL;
  ELSEIF LENGTH(digits) <> width THEN
    CALL mintage__refuse_uuid(CONCAT(what, ' has ', width, ' characters, found ', LENGTH(digits)));
  END IF;
  WHILE at <= width DO
    SET digit = LOCATE(SUBSTR(digits, at, 1), alphabet) - 1;
    IF digit < 0 THEN
      CALL mintage__refuse_uuid(CONCAT('not ', what, ': character ', at, ' of ''', digits, ''' is not in its alphabet'));
    END IF;
    SET answer = answer * LENGTH(alphabet) + digit;
    SET at = at + 1;
  END WHILE;
  IF answer >= bound THEN
    CALL mintage__refuse_uuid(CONCAT('not ', what, ': the number in ''', digits, ''' is larger than it can be'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage__uuid_digits //
CREATE FUNCTION mintage__uuid_digits(id VARCHAR(64) CHARACTER SET ascii, alphabet VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, width INT) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__digits(CAST(mintage__hi(id) AS DECIMAL(65, 0)) * 18446744073709551616 + mintage__lo(id), alphabet, width) //

DROP FUNCTION IF EXISTS mintage__uuid_undigits //
CREATE FUNCTION mintage__uuid_undigits(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin, alphabet VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, width INT, what VARCHAR(40)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE value DECIMAL(65, 0) DEFAULT mintage__undigits(digits, alphabet, width, 340282366920938463463374607431768211456, what);
  DECLARE low DECIMAL(65, 0) DEFAULT MOD(value, 18446744073709551616);
  RETURN mintage__pair(CAST((value - low) / 18446744073709551616 AS UNSIGNED), CAST(low AS UNSIGNED));
END //

DROP FUNCTION IF EXISTS mintage_uuid_to_base58 //
CREATE FUNCTION mintage_uuid_to_base58(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'fixed width'
RETURN mintage__uuid_digits(id, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 22) //

DROP FUNCTION IF EXISTS mintage_uuid_from_base58 //
CREATE FUNCTION mintage_uuid_from_base58(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'strict: width, alphabet, range'
RETURN mintage__uuid_undigits(digits, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 22, 'the base58 of a uuid') //

DROP FUNCTION IF EXISTS mintage_uuid_to_base62 //
CREATE FUNCTION mintage_uuid_to_base62(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'fixed width'
RETURN mintage__uuid_digits(id, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 22) //

DROP FUNCTION IF EXISTS mintage_uuid_from_base62 //
CREATE FUNCTION mintage_uuid_from_base62(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'strict: width, alphabet, range'
RETURN mintage__uuid_undigits(digits, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 22, 'the base62 of a uuid') //

DROP FUNCTION IF EXISTS mintage_uuid_to_base32 //
CREATE FUNCTION mintage_uuid_to_base32(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'fixed width'
RETURN mintage__uuid_digits(id, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26) //

DROP FUNCTION IF EXISTS mintage_uuid_from_base32 //
CREATE FUNCTION mintage_uuid_from_base32(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'strict: width, alphabet, range'
RETURN mintage__uuid_undigits(UPPER(digits), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26, 'the base32 of a uuid') //

DROP FUNCTION IF EXISTS mintage_id_to_base58 //
CREATE FUNCTION mintage_id_to_base58(id BIGINT) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'fixed width'
BEGIN
  IF id < 0 THEN
    CALL mintage__refuse_value(CONCAT('id ', id, ' is negative'));
  END IF;
  RETURN mintage__digits(id, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 11);
END //

DROP FUNCTION IF EXISTS mintage_id_from_base58 //
CREATE FUNCTION mintage_id_from_base58(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'strict: width, alphabet, range'
RETURN CAST(mintage__undigits(digits, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 11, 9223372036854775808, 'the base58 of a 64-bit id') AS SIGNED) //

DROP FUNCTION IF EXISTS mintage_id_to_base62 //
CREATE FUNCTION mintage_id_to_base62(id BIGINT) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'fixed width'
BEGIN
  IF id < 0 THEN
    CALL mintage__refuse_value(CONCAT('id ', id, ' is negative'));
  END IF;
  RETURN mintage__digits(id, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 11);
END //

DROP FUNCTION IF EXISTS mintage_id_from_base62 //
CREATE FUNCTION mintage_id_from_base62(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'strict: width, alphabet, range'
RETURN CAST(mintage__undigits(digits, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 11, 9223372036854775808, 'the base62 of a 64-bit id') AS SIGNED) //

DROP FUNCTION IF EXISTS mintage_id_to_base32 //
CREATE FUNCTION mintage_id_to_base32(id BIGINT) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'fixed width'
BEGIN
  IF id < 0 THEN
    CALL mintage__refuse_value(CONCAT('id ', id, ' is negative'));
  END IF;
  RETURN mintage__digits(id, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13);
END //

DROP FUNCTION IF EXISTS mintage_id_from_base32 //
CREATE FUNCTION mintage_id_from_base32(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'strict: width, alphabet, range'
RETURN CAST(mintage__undigits(UPPER(digits), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13, 9223372036854775808, 'the base32 of a 64-bit id') AS SIGNED) //

-- ULIDs ----------------------------------------------------------------------------------------------------------

-- The same 128 bits as a uuid.
DROP FUNCTION IF EXISTS mintage_ulid_to_uuid //
CREATE FUNCTION mintage_ulid_to_uuid(ulid VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the same 128 bits'
RETURN mintage__uuid_undigits(UPPER(ulid), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26, 'a ulid') //

DROP FUNCTION IF EXISTS mintage_uuid_to_ulid //
CREATE FUNCTION mintage_uuid_to_ulid(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'fixed width'
RETURN mintage_uuid_to_base32(id) //

-- At a time, rounded down to the millisecond; 80 random bits.
DROP FUNCTION IF EXISTS mintage_ulid_at //
CREATE FUNCTION mintage_ulid_at(ts DATETIME(6)) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT '80 random bits, of a time'
RETURN mintage_uuid_to_base32(CONCAT(LPAD(HEX(mintage__unix_us('a ulid', ts) DIV 1000), 12, '0'), HEX(mintage__random(10)))) //

DROP FUNCTION IF EXISTS mintage_ulid //
CREATE FUNCTION mintage_ulid() RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT '80 random bits'
RETURN mintage_ulid_at(mintage__now()) //

DROP FUNCTION IF EXISTS mintage_ulid_timestamp //
CREATE FUNCTION mintage_ulid_timestamp(ulid VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, in milliseconds'
RETURN mintage__at((mintage__hi(mintage_ulid_to_uuid(ulid)) >> 16) * 1000 + 12219292800000000) //

DROP FUNCTION IF EXISTS mintage_ulid_min //
CREATE FUNCTION mintage_ulid_min(ts DATETIME(6)) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'smallest id of that time'
RETURN mintage_uuid_to_base32(mintage__pair((mintage__unix_us('a ulid', ts) DIV 1000) << 16, 0)) //

DROP FUNCTION IF EXISTS mintage_ulid_max //
CREATE FUNCTION mintage_ulid_max(ts DATETIME(6)) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'largest id of that time'
RETURN mintage_uuid_to_base32(mintage__pair(((mintage__unix_us('a ulid', ts) DIV 1000) << 16) | 65535, 18446744073709551615)) //

DROP FUNCTION IF EXISTS mintage_ulid_before //
CREATE FUNCTION mintage_ulid_before(ts DATETIME(6)) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT '80 random bits, the upper end of a half-open range'
RETURN mintage_ulid_max(TIMESTAMPADD(MICROSECOND, -1, ts)) //


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
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'their names'
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
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'from everything given'
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
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, NULL if it is no id of the preset'
RETURN mintage__at(12219292800000000 + mintage__part(mintage__layout(preset), 'epoch_us')
                   + mintage__field(mintage__layout(preset), 'time', id) * mintage__part(mintage__layout(preset), 'tick_us')) //

DROP FUNCTION IF EXISTS mintage_snowflake_timestamp_strict //
CREATE FUNCTION mintage_snowflake_timestamp_strict(preset VARCHAR(64) CHARACTER SET ascii, id BIGINT) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the time, NULL if it is no id of the preset; an error where the plain one answers NULL'
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_snowflake_timestamp(preset, id);
  IF answer IS NULL AND id IS NOT NULL AND preset IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT(id, ' is not a snowflake of preset ', preset));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_snowflake_worker //
CREATE FUNCTION mintage_snowflake_worker(preset VARCHAR(64) CHARACTER SET ascii, id BIGINT) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the field'
RETURN mintage__field(mintage__layout(preset), 'worker', id) //

DROP FUNCTION IF EXISTS mintage_snowflake_sequence //
CREATE FUNCTION mintage_snowflake_sequence(preset VARCHAR(64) CHARACTER SET ascii, id BIGINT) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'the field'
RETURN mintage__field(mintage__layout(preset), 'sequence', id) //

DROP FUNCTION IF EXISTS mintage_snowflake_min //
CREATE FUNCTION mintage_snowflake_min(preset VARCHAR(64) CHARACTER SET ascii, ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'smallest id of that time'
RETURN mintage_form_snowflake(preset, ts, 0, 0) //

DROP FUNCTION IF EXISTS mintage_snowflake_max //
CREATE FUNCTION mintage_snowflake_max(preset VARCHAR(64) CHARACTER SET ascii, ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'largest id of that time'
RETURN mintage_form_snowflake(preset, ts, (1 << mintage__part(mintage__layout(preset), 'worker_bits')) - 1,
                              (1 << mintage__part(mintage__layout(preset), 'sequence_bits')) - 1) //

DROP FUNCTION IF EXISTS mintage_snowflake_before //
CREATE FUNCTION mintage_snowflake_before(preset VARCHAR(64) CHARACTER SET ascii, ts DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'now, the upper end of a half-open range'
RETURN mintage_snowflake_max(preset, TIMESTAMPADD(MICROSECOND, -1, ts)) //


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
    ELSEIF ts < TIMESTAMP'1970-01-31 00:00:00' THEN
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
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'every field by the preset''s own name'
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
  DECLARE early INT DEFAULT mintage__field(l, 'time', id) * tick_us < 2592000000000;
  DECLARE reading LONGTEXT CHARACTER SET utf8mb4;
  IF fields IS NULL THEN
    RETURN NULL;
  END IF;
  SET reading = JSON_OBJECT('format', 'snowflake', 'preset', preset,
    'confidence', ROUND(IF(future, 0.05, IF(early, 0.2, 0.6)) * (1 - place / 50), 2),
    'why', IF(future, 'its time lies in the future', IF(early, 'its time lies within a month of the layout''s epoch, as any small number',
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
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'every way to read an id, likeliest first, of a time'
BEGIN
  DECLARE plain VARCHAR(4096) CHARACTER SET utf8mb4 DEFAULT LOWER(TRIM(id));
  DECLARE readings LONGTEXT CHARACTER SET utf8mb4 DEFAULT JSON_ARRAY();
  DECLARE names TEXT CHARACTER SET ascii DEFAULT mintage_snowflake_presets();
  DECLARE reading LONGTEXT CHARACTER SET utf8mb4;
  DECLARE pass INT DEFAULT 0;
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
      -- The likeliest first: one pass for each class of confidence; within one, the presets' own order.
      WHILE pass < 3 DO
        SET at = 0;
        WHILE at < JSON_LENGTH(names) DO
          SET reading = mintage__read_snowflake(JSON_UNQUOTE(JSON_EXTRACT(names, CONCAT('$[', at, ']'))), at,
            IF(number > 9223372036854775807, number - 18446744073709551616, number), now_ts);
          SET confidence = JSON_EXTRACT(reading, '$.confidence');
          IF reading IS NOT NULL AND pass = IF(confidence > 0.3, 0, IF(confidence > 0.1, 1, 2)) THEN
            SET readings = JSON_ARRAY_APPEND(readings, '$', JSON_EXTRACT(reading, '$'));
          END IF;
          SET at = at + 1;
        END WHILE;
        SET pass = pass + 1;
      END WHILE;
    END IF;
  END IF;
  RETURN JSON_OBJECT('input', id, 'readings', JSON_EXTRACT(readings, '$'));
END //

DROP FUNCTION IF EXISTS mintage_decode_id //
CREATE FUNCTION mintage_decode_id(id VARCHAR(4096) CHARACTER SET utf8mb4) RETURNS LONGTEXT CHARACTER SET utf8mb4
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'every way to read an id, likeliest first'
RETURN mintage_decode_id_at(id, mintage__now()) //


-- The version of this pack ------------------------------------------------------------------------------------------

DROP FUNCTION IF EXISTS mintage_pack_version //
CREATE FUNCTION mintage_pack_version() RETURNS VARCHAR(20) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'of this pack'
RETURN '1.1' //

-- Snowflakes of now -------------------------------------------------------------------------------------------------
--
-- Last, because they write to a table: where the binary log is on, the server takes such functions only while
-- log_bin_trust_function_creators = 1. Everything above is installed even if it refuses here.

-- Now. A row for each worker holds the last word given, (tick << sequence_bits | number within the tick). It only ever
-- rises: a full tick carries into the next one, and a clock that steps back is not followed. The table's engine has no
-- transactions on purpose: what was given stays given when the caller rolls back, and nobody waits for a commit.
-- (A sequence cannot serve here: MariaDB's SETVAL takes no expression, and MySQL has none.)
CREATE TABLE IF NOT EXISTS mintage_snowflake_state (
  preset VARCHAR(64) CHARACTER SET ascii NOT NULL,
  worker BIGINT NOT NULL,
  word BIGINT NOT NULL,
  PRIMARY KEY (preset, worker)
) /*!80000 ENGINE=MyISAM */ /*M!100600 ENGINE=Aria TRANSACTIONAL=1 */ //

-- Its numbers are read once and straight from the JSON: every call of a stored function costs some microseconds.
DROP FUNCTION IF EXISTS mintage_snowflake //
CREATE FUNCTION mintage_snowflake(preset VARCHAR(64) CHARACTER SET ascii, worker BIGINT) RETURNS BIGINT
NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'now'
BEGIN
  DECLARE l TEXT CHARACTER SET ascii;
  DECLARE bits, tick_us, first, carry, tick, begin_at, given BIGINT;
  IF preset IS NULL OR worker IS NULL THEN
    RETURN NULL;
  END IF;
  SET l = mintage__layout(preset);
  SET bits = JSON_EXTRACT(l, '$.sequence_bits');
  SET tick_us = JSON_EXTRACT(l, '$.tick_us');
  SET first = JSON_EXTRACT(l, '$.sequence_first');
  SET carry = JSON_EXTRACT(l, '$.sequence_carry');
  SET tick = (TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))
              + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - JSON_EXTRACT(l, '$.epoch_us')) DIV tick_us;
  IF worker < 0 OR worker >> JSON_EXTRACT(l, '$.worker_bits') <> 0
     OR tick < 0 OR tick >> LEAST(JSON_EXTRACT(l, '$.time_bits'), 63 - JSON_EXTRACT(l, '$.time_shift')) <> 0 THEN
    -- Refuses in words, and before there is a row.
    RETURN mintage__snowflake(preset, tick, worker, 0);
  END IF;
  -- A tick begins where the preset says: at a fixed number, spread by a hash of the tick, or where the last one ended,
  -- going round at half of the field.
  SET begin_at = (tick << bits) + first + ((tick * 40503) >> 4) % JSON_EXTRACT(l, '$.sequence_spread');
  UPDATE mintage_snowflake_state AS s
  SET s.word = LAST_INSERT_ID(IF((s.word + 1) >> bits < tick, begin_at + carry * ((s.word + 1) & ((1 << (bits - 1)) - 1)),
                                 s.word + 1 + IF((s.word + 1) & ((1 << bits) - 1) < first, first, 0)))
  WHERE s.preset = preset AND s.worker = worker;
  IF ROW_COUNT() = 0 THEN
    INSERT INTO mintage_snowflake_state VALUES (preset, worker, LAST_INSERT_ID(begin_at));
  END IF;
  SET given = LAST_INSERT_ID();
  IF CAST(given >> bits AS SIGNED) - tick > 5000000 DIV tick_us THEN
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'the last id is more than 5 s ahead of the clock: wait until it has caught up';
  END IF;
  RETURN CAST(((given >> bits) << JSON_EXTRACT(l, '$.time_shift')) | (worker << JSON_EXTRACT(l, '$.worker_shift'))
              | ((given & ((1 << bits) - 1)) << JSON_EXTRACT(l, '$.sequence_shift')) | JSON_EXTRACT(l, '$.constant_value') AS SIGNED);
END //

DROP FUNCTION IF EXISTS mintage_instagram_id //
CREATE FUNCTION mintage_instagram_id(shard BIGINT) RETURNS BIGINT
NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'snowflake(''instagram'', …)'
RETURN mintage_snowflake('instagram', shard) //

DELIMITER ;
SET sql_mode = @mintage_old_sql_mode;
