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
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__gregorian(1, mintage__ticks(ts), clock_seq, mintage__mac(mac)) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6 //
CREATE FUNCTION mintage_form_uuid_v6(ts DATETIME(6), clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__gregorian(6, mintage__ticks(ts), clock_seq, mintage__mac(mac)) //

-- Back-fill: row n (0, 1, ...) of one microsecond.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1_nth //
CREATE FUNCTION mintage_form_uuid_v1_nth(ts DATETIME(6), clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__nth(1, ts, clock_seq, mintage__mac(mac), n) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6_nth //
CREATE FUNCTION mintage_form_uuid_v6_nth(ts DATETIME(6), clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__nth(6, ts, clock_seq, mintage__mac(mac), n) //

-- Of ticks of 100 ns since 1582-10-15.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1_ticks //
CREATE FUNCTION mintage_form_uuid_v1_ticks(ticks BIGINT, clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__gregorian(1, ticks, clock_seq, mintage__mac(mac)) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6_ticks //
CREATE FUNCTION mintage_form_uuid_v6_ticks(ticks BIGINT, clock_seq INT, mac VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__gregorian(6, ticks, clock_seq, mintage__mac(mac)) //

-- Repeatable: clock sequence and node (multicast bit set) are the SHA-256 of a key.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1_keyed //
CREATE FUNCTION mintage_form_uuid_v1_keyed(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v1_hi(mintage__ticks(ts)), mintage__hash_lo(`key`) | 1099511627776) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6_keyed //
CREATE FUNCTION mintage_form_uuid_v6_keyed(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v6_hi(mintage__ticks(ts)), mintage__hash_lo(`key`) | 1099511627776) //

-- Repeatable and counted: the node is the hash of a key, n counts its rows of one microsecond.
DROP FUNCTION IF EXISTS mintage_form_uuid_v1_keyed_nth //
CREATE FUNCTION mintage_form_uuid_v1_keyed_nth(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__nth(1, ts, 0, (mintage__hash_lo(`key`) | 1099511627776) & 281474976710655, n) //

DROP FUNCTION IF EXISTS mintage_form_uuid_v6_keyed_nth //
CREATE FUNCTION mintage_form_uuid_v6_keyed_nth(ts DATETIME(6), `key` LONGTEXT CHARACTER SET utf8mb4, n BIGINT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__nth(6, ts, 0, (mintage__hash_lo(`key`) | 1099511627776) & 281474976710655, n) //

-- At a time; clock sequence and node (multicast bit set) are random.
DROP FUNCTION IF EXISTS mintage_uuid_v1_at //
CREATE FUNCTION mintage_uuid_v1_at(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v1_hi(mintage__ticks(ts)), mintage__random_lo() | 1099511627776) //

DROP FUNCTION IF EXISTS mintage_uuid_v6_at //
CREATE FUNCTION mintage_uuid_v6_at(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v6_hi(mintage__ticks(ts)), mintage__random_lo() | 1099511627776) //

-- Now.
DROP FUNCTION IF EXISTS mintage_uuid_v1 //
CREATE FUNCTION mintage_uuid_v1() RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_v1_at(mintage__now()) //

DROP FUNCTION IF EXISTS mintage_uuid_v6 //
CREATE FUNCTION mintage_uuid_v6() RETURNS CHAR(36) CHARACTER SET ascii
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_v6_at(mintage__now()) //

-- The smallest and the largest id of one microsecond.
DROP FUNCTION IF EXISTS mintage_uuid_v1_min //
CREATE FUNCTION mintage_uuid_v1_min(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v1_hi(mintage__ticks(ts)), 1 << 63) //

DROP FUNCTION IF EXISTS mintage_uuid_v1_max //
CREATE FUNCTION mintage_uuid_v1_max(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v1_hi(LEAST(mintage__ticks(ts), 1152921504606846966) + 9), 13835058055282163711) //

DROP FUNCTION IF EXISTS mintage_uuid_v6_min //
CREATE FUNCTION mintage_uuid_v6_min(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v6_hi(mintage__ticks(ts)), 1 << 63) //

DROP FUNCTION IF EXISTS mintage_uuid_v6_max //
CREATE FUNCTION mintage_uuid_v6_max(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v6_hi(LEAST(mintage__ticks(ts), 1152921504606846966) + 9), 13835058055282163711) //

-- The largest id of an event before a time: BETWEEN mintage_uuid_v6_min(a) AND mintage_uuid_v6_before(b) is half-open.
DROP FUNCTION IF EXISTS mintage_uuid_v6_before //
CREATE FUNCTION mintage_uuid_v6_before(ts DATETIME(6)) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__pair(mintage__v6_hi(mintage__ticks(ts) - 1), 13835058055282163711) //

