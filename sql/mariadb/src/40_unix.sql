-- Versions 4, 7 and 8 ---------------------------------------------------------------------------------------------

DROP FUNCTION IF EXISTS mintage_uuid_v4 //
CREATE FUNCTION mintage_uuid_v4() RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__stamped(mintage__random(16), 4) //

DROP FUNCTION IF EXISTS mintage__v7_hi //
CREATE FUNCTION mintage__v7_hi(us BIGINT) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN ((us DIV 1000) << 16) | 28672 | ((us % 1000) * 4096 DIV 1000) //

-- At a time, rounded down to the millisecond; 74 random bits.
DROP FUNCTION IF EXISTS mintage_uuid_v7_at //
CREATE FUNCTION mintage_uuid_v7_at(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(((mintage__unix_us('a uuid of version 7', ts) DIV 1000) << 16) | 28672 | (mintage__number(HEX(mintage__random(2))) & 4095),
                     mintage__random_lo()) //

-- At a time, to the microsecond; 62 random bits.
DROP FUNCTION IF EXISTS mintage_uuid_v7_submilli //
CREATE FUNCTION mintage_uuid_v7_submilli(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v7_hi(mintage__unix_us('a uuid of version 7', ts)), mintage__random_lo()) //

-- Now, to the microsecond. Written out, since every call of a stored function costs some microseconds.
DROP FUNCTION IF EXISTS mintage_uuid_v7 //
CREATE FUNCTION mintage_uuid_v7() RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
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
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
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
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__form_v7(ts, n, mintage__random_lo()) //

DROP FUNCTION IF EXISTS mintage__hash64 //
CREATE FUNCTION mintage__hash64(`key` LONGTEXT CHARACTER SET utf8mb4) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__number(LEFT(SHA2(`key`, 256), 16)) //

-- Repeatable: the 44 bits below n are the SHA-256 of a key.
DROP FUNCTION IF EXISTS mintage_form_uuid_v7_keyed_nth //
CREATE FUNCTION mintage_form_uuid_v7_keyed_nth(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__form_v7(ts, n, mintage__hash64(`key`)) //

-- Repeatable: all 62 bits below the fraction are the SHA-256 of a key, which should name the row.
DROP FUNCTION IF EXISTS mintage_form_uuid_v7_keyed //
CREATE FUNCTION mintage_form_uuid_v7_keyed(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v7_hi(mintage__unix_us('a uuid of version 7', ts)), mintage__hash_lo(`key`)) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v7_fields //
CREATE FUNCTION mintage_form_uuid_v7_fields(unix_ts_ms BIGINT, rand_a INT, rand_b BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF unix_ts_ms < 0 OR unix_ts_ms > 281474976710655 OR rand_a < 0 OR rand_a > 4095 OR rand_b < 0 OR rand_b > 4611686018427387903 THEN
    CALL mintage__refuse_value(CONCAT('unix_ts_ms ', unix_ts_ms, ', rand_a ', rand_a, ', rand_b ', rand_b, ' do not fit: 48, 12 and 62 bits'));
  END IF;
  RETURN mintage__pair((CAST(unix_ts_ms AS UNSIGNED) << 16) | 28672 | rand_a, rand_b | (1 << 63));
END //

DROP FUNCTION IF EXISTS mintage_uuid_v8_fields //
CREATE FUNCTION mintage_uuid_v8_fields(custom_a BIGINT, custom_b INT, custom_c BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF custom_a < 0 OR custom_a > 281474976710655 OR custom_b < 0 OR custom_b > 4095 OR custom_c < 0 OR custom_c > 4611686018427387903 THEN
    CALL mintage__refuse_value(CONCAT('custom_a ', custom_a, ', custom_b ', custom_b, ', custom_c ', custom_c, ' do not fit: 48, 12 and 62 bits'));
  END IF;
  RETURN mintage__pair((CAST(custom_a AS UNSIGNED) << 16) | 32768 | custom_b, custom_c | (1 << 63));
END //

-- Version 8: bytes of your own; only version and variant are written over.
DROP FUNCTION IF EXISTS mintage_uuid_v8 //
CREATE FUNCTION mintage_uuid_v8(custom VARBINARY(64)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF LENGTH(custom) <> 16 THEN
    CALL mintage__refuse_uuid(CONCAT('a version 8 uuid has 16 bytes, found ', LENGTH(custom)));
  END IF;
  RETURN mintage__stamped(custom, 8);
END //

-- The smallest and the largest id of the millisecond of a time.
DROP FUNCTION IF EXISTS mintage_uuid_v7_min //
CREATE FUNCTION mintage_uuid_v7_min(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(((mintage__unix_us('a uuid of version 7', ts) DIV 1000) << 16) | 28672, 1 << 63) //

DROP FUNCTION IF EXISTS mintage_uuid_v7_max //
CREATE FUNCTION mintage_uuid_v7_max(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(((mintage__unix_us('a uuid of version 7', ts) DIV 1000) << 16) | 32767, 13835058055282163711) //

-- The largest id of an event before a time: BETWEEN mintage_uuid_v7_min(a) AND mintage_uuid_v7_before(b) is half-open.
DROP FUNCTION IF EXISTS mintage_uuid_v7_before //
CREATE FUNCTION mintage_uuid_v7_before(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_v7_max(TIMESTAMPADD(MICROSECOND, -1, ts)) //

