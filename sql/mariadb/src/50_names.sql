-- Versions 3, 5 and 8 from names; nil and max; MySQL's byte swap --------------------------------------------------

DROP FUNCTION IF EXISTS mintage_uuid_nil //
CREATE FUNCTION mintage_uuid_nil() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN '00000000-0000-0000-0000-000000000000' //

DROP FUNCTION IF EXISTS mintage_uuid_max //
CREATE FUNCTION mintage_uuid_max() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff' //

DROP FUNCTION IF EXISTS mintage_ns_dns //
CREATE FUNCTION mintage_ns_dns() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN '6ba7b810-9dad-11d1-80b4-00c04fd430c8' //

DROP FUNCTION IF EXISTS mintage_ns_url //
CREATE FUNCTION mintage_ns_url() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN '6ba7b811-9dad-11d1-80b4-00c04fd430c8' //

DROP FUNCTION IF EXISTS mintage_ns_oid //
CREATE FUNCTION mintage_ns_oid() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN '6ba7b812-9dad-11d1-80b4-00c04fd430c8' //

DROP FUNCTION IF EXISTS mintage_ns_x500 //
CREATE FUNCTION mintage_ns_x500() RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
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
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__stamped(UNHEX(MD5(CONCAT(mintage__space(namespace), name))), 3) //

DROP FUNCTION IF EXISTS mintage_uuid_v5_bytes //
CREATE FUNCTION mintage_uuid_v5_bytes(namespace VARCHAR(64) CHARACTER SET ascii, name LONGBLOB) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__stamped(UNHEX(SHA1(CONCAT(mintage__space(namespace), name))), 5) //

DROP FUNCTION IF EXISTS mintage_uuid_v8_sha256_bytes //
CREATE FUNCTION mintage_uuid_v8_sha256_bytes(namespace VARCHAR(64) CHARACTER SET ascii, name LONGBLOB) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__stamped(UNHEX(SHA2(CONCAT(mintage__space(namespace), name), 256)), 8) //

-- Of a name's UTF-8, whatever the connection's character set; nothing is folded or trimmed.
DROP FUNCTION IF EXISTS mintage_uuid_v3 //
CREATE FUNCTION mintage_uuid_v3(namespace VARCHAR(64) CHARACTER SET ascii, name LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_v3_bytes(namespace, CAST(name AS BINARY)) //

DROP FUNCTION IF EXISTS mintage_uuid_v5 //
CREATE FUNCTION mintage_uuid_v5(namespace VARCHAR(64) CHARACTER SET ascii, name LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_v5_bytes(namespace, CAST(name AS BINARY)) //

DROP FUNCTION IF EXISTS mintage_uuid_v8_sha256 //
CREATE FUNCTION mintage_uuid_v8_sha256(namespace VARCHAR(64) CHARACTER SET ascii, name LONGTEXT CHARACTER SET utf8mb4) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_v8_sha256_bytes(namespace, CAST(name AS BINARY)) //

-- MySQL's UUID_TO_BIN and BIN_TO_UUID: with swap, time_hi and time_low change places, so that version 1 sorts by time. Versions
-- 6 and 7 sort by time without, and no longer do with it.
DROP FUNCTION IF EXISTS mintage_uuid_to_bin //
CREATE FUNCTION mintage_uuid_to_bin(id VARCHAR(64) CHARACTER SET ascii, swap INT) RETURNS BINARY(16)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE hex CHAR(32) CHARACTER SET ascii DEFAULT mintage__hex(id);
  IF hex IS NULL AND id IS NOT NULL THEN
    CALL mintage__refuse_uuid(CONCAT('''', id, ''' is not a uuid'));
  END IF;
  RETURN UNHEX(IF(swap, CONCAT(SUBSTR(hex, 13, 4), SUBSTR(hex, 9, 4), LEFT(hex, 8), RIGHT(hex, 16)), hex));
END //

DROP FUNCTION IF EXISTS mintage_bin_to_uuid //
CREATE FUNCTION mintage_bin_to_uuid(id VARBINARY(64), swap INT) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF LENGTH(id) <> 16 THEN
    CALL mintage__refuse_uuid(CONCAT('a uuid has 16 bytes, found ', LENGTH(id)));
  END IF;
  RETURN mintage__uuid(IF(swap, CONCAT(SUBSTR(HEX(id), 9, 8), SUBSTR(HEX(id), 5, 4), LEFT(HEX(id), 4), RIGHT(HEX(id), 16)), HEX(id)));
END //

