-- Reading: NULL for what the function does not read; the _strict twin raises 22023 -------------------------------

DROP FUNCTION IF EXISTS mintage_uuid_variant //
CREATE FUNCTION mintage_uuid_variant(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(9) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE WHEN SUBSTR(mintage__hex(id), 17, 1) < '8' THEN 'ncs' WHEN SUBSTR(mintage__hex(id), 17, 1) < 'c' THEN 'rfc9562'
            WHEN SUBSTR(mintage__hex(id), 17, 1) < 'e' THEN 'microsoft' WHEN mintage__hex(id) IS NOT NULL THEN 'future' END //

DROP FUNCTION IF EXISTS mintage_uuid_version //
CREATE FUNCTION mintage_uuid_version(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__version(id) //

-- Ticks of 100 ns since 1582-10-15, of versions 1 and 6.
DROP FUNCTION IF EXISTS mintage_uuid_ticks //
CREATE FUNCTION mintage_uuid_ticks(id VARCHAR(64) CHARACTER SET ascii) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE mintage__version(id)
  WHEN 1 THEN mintage__number(CONCAT(SUBSTR(mintage__hex(id), 14, 3), SUBSTR(mintage__hex(id), 9, 4), LEFT(mintage__hex(id), 8)))
  WHEN 6 THEN mintage__number(CONCAT(LEFT(mintage__hex(id), 12), SUBSTR(mintage__hex(id), 14, 3))) END //

-- What mintage_uuid_timestamp floors away: 0 to 9 ticks.
DROP FUNCTION IF EXISTS mintage_uuid_timestamp_100ns //
CREATE FUNCTION mintage_uuid_timestamp_100ns(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_ticks(id) % 10 //

-- The time of a version 1 uuid, floored to the microsecond.
DROP FUNCTION IF EXISTS mintage_uuid_v1_timestamp //
CREATE FUNCTION mintage_uuid_v1_timestamp(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE mintage__version(id) WHEN 1 THEN mintage__at(mintage_uuid_ticks(id) DIV 10) END //

DROP FUNCTION IF EXISTS mintage_uuid_v6_timestamp //
CREATE FUNCTION mintage_uuid_v6_timestamp(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE mintage__version(id) WHEN 6 THEN mintage__at(mintage_uuid_ticks(id) DIV 10) END //

-- The time of a version 7 uuid, in milliseconds.
DROP FUNCTION IF EXISTS mintage_uuid_v7_timestamp //
CREATE FUNCTION mintage_uuid_v7_timestamp(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE mintage__version(id) WHEN 7 THEN mintage__at(mintage__number(LEFT(mintage__hex(id), 12)) * 1000 + 12219292800000000) END //

-- The same to the microsecond, if rand_a was made as a 12-bit fraction of the millisecond. Rounds up, as making floors.
DROP FUNCTION IF EXISTS mintage_uuid_v7_timestamp_submilli //
CREATE FUNCTION mintage_uuid_v7_timestamp_submilli(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE mintage__version(id) WHEN 7 THEN mintage__at(mintage__number(LEFT(mintage__hex(id), 12)) * 1000 + 12219292800000000
  + LEAST(999, (mintage__number(SUBSTR(mintage__hex(id), 14, 3)) * 1000 + 4095) DIV 4096)) END //

-- The time of a uuid of version 1, 6 or 7.
DROP FUNCTION IF EXISTS mintage_uuid_timestamp //
CREATE FUNCTION mintage_uuid_timestamp(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE mintage__version(id) WHEN 7 THEN mintage_uuid_v7_timestamp(id) ELSE mintage__at(mintage_uuid_ticks(id) DIV 10) END //

DROP FUNCTION IF EXISTS mintage_uuid_node //
CREATE FUNCTION mintage_uuid_node(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(17) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE WHEN mintage__version(id) IN (1, 2, 6) THEN CONCAT_WS(':', SUBSTR(mintage__hex(id), 21, 2), SUBSTR(mintage__hex(id), 23, 2),
  SUBSTR(mintage__hex(id), 25, 2), SUBSTR(mintage__hex(id), 27, 2), SUBSTR(mintage__hex(id), 29, 2), SUBSTR(mintage__hex(id), 31, 2)) END //

DROP FUNCTION IF EXISTS mintage_uuid_clock_seq //
CREATE FUNCTION mintage_uuid_clock_seq(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE WHEN mintage__version(id) IN (1, 6) THEN mintage__number(SUBSTR(mintage__hex(id), 17, 4)) & 16383 END //

-- Version 1 and version 6 hold the same bits in another order; nothing is lost either way.
DROP FUNCTION IF EXISTS mintage_uuid_v1_to_v6 //
CREATE FUNCTION mintage_uuid_v1_to_v6(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE mintage__version(id) WHEN 1 THEN mintage__pair(mintage__v6_hi(mintage_uuid_ticks(id)), mintage__lo(id)) END //

DROP FUNCTION IF EXISTS mintage_uuid_v6_to_v1 //
CREATE FUNCTION mintage_uuid_v6_to_v1(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CASE mintage__version(id) WHEN 6 THEN mintage__pair(mintage__v1_hi(mintage_uuid_ticks(id)), mintage__lo(id)) END //

DROP FUNCTION IF EXISTS mintage_uuid_version_strict //
CREATE FUNCTION mintage_uuid_version_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer INT DEFAULT mintage_uuid_version(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of the RFC 9562 variant'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_ticks_strict //
CREATE FUNCTION mintage_uuid_ticks_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS BIGINT UNSIGNED
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer BIGINT UNSIGNED DEFAULT mintage_uuid_ticks(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1 or 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_timestamp_100ns_strict //
CREATE FUNCTION mintage_uuid_timestamp_100ns_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer INT DEFAULT mintage_uuid_timestamp_100ns(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1 or 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v1_timestamp_strict //
CREATE FUNCTION mintage_uuid_v1_timestamp_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_v1_timestamp(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v6_timestamp_strict //
CREATE FUNCTION mintage_uuid_v6_timestamp_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_v6_timestamp(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v7_timestamp_strict //
CREATE FUNCTION mintage_uuid_v7_timestamp_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_v7_timestamp(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 7 and before the year 10000'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v7_timestamp_submilli_strict //
CREATE FUNCTION mintage_uuid_v7_timestamp_submilli_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_v7_timestamp_submilli(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 7 and before the year 10000'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_timestamp_strict //
CREATE FUNCTION mintage_uuid_timestamp_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer DATETIME(6) DEFAULT mintage_uuid_timestamp(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1, 6 or 7'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_node_strict //
CREATE FUNCTION mintage_uuid_node_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(17) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer CHAR(17) CHARACTER SET ascii DEFAULT mintage_uuid_node(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1, 2 or 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_clock_seq_strict //
CREATE FUNCTION mintage_uuid_clock_seq_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS INT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer INT DEFAULT mintage_uuid_clock_seq(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1 or 6'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v1_to_v6_strict //
CREATE FUNCTION mintage_uuid_v1_to_v6_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer CHAR(36) CHARACTER SET ascii DEFAULT mintage_uuid_v1_to_v6(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 1'));
  END IF;
  RETURN answer;
END //

DROP FUNCTION IF EXISTS mintage_uuid_v6_to_v1_strict //
CREATE FUNCTION mintage_uuid_v6_to_v1_strict(id VARCHAR(64) CHARACTER SET ascii) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE answer CHAR(36) CHARACTER SET ascii DEFAULT mintage_uuid_v6_to_v1(id);
  IF answer IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid of version 6'));
  END IF;
  RETURN answer;
END //

