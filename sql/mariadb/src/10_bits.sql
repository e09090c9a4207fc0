-- Mintage's functions for MariaDB 10.6 and later and MySQL 8, version @version@, in the current database.
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

