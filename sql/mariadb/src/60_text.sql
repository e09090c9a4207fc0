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
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid_digits(id, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 22) //

DROP FUNCTION IF EXISTS mintage_uuid_from_base58 //
CREATE FUNCTION mintage_uuid_from_base58(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid_undigits(digits, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 22, 'the base58 of a uuid') //

DROP FUNCTION IF EXISTS mintage_uuid_to_base62 //
CREATE FUNCTION mintage_uuid_to_base62(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid_digits(id, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 22) //

DROP FUNCTION IF EXISTS mintage_uuid_from_base62 //
CREATE FUNCTION mintage_uuid_from_base62(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid_undigits(digits, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 22, 'the base62 of a uuid') //

DROP FUNCTION IF EXISTS mintage_uuid_to_base32 //
CREATE FUNCTION mintage_uuid_to_base32(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid_digits(id, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26) //

DROP FUNCTION IF EXISTS mintage_uuid_from_base32 //
CREATE FUNCTION mintage_uuid_from_base32(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid_undigits(UPPER(digits), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26, 'the base32 of a uuid') //

DROP FUNCTION IF EXISTS mintage_id_to_base58 //
CREATE FUNCTION mintage_id_to_base58(id BIGINT) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF id < 0 THEN
    CALL mintage__refuse_value(CONCAT('id ', id, ' is negative'));
  END IF;
  RETURN mintage__digits(id, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 11);
END //

DROP FUNCTION IF EXISTS mintage_id_from_base58 //
CREATE FUNCTION mintage_id_from_base58(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CAST(mintage__undigits(digits, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 11, 9223372036854775808, 'the base58 of a 64-bit id') AS SIGNED) //

DROP FUNCTION IF EXISTS mintage_id_to_base62 //
CREATE FUNCTION mintage_id_to_base62(id BIGINT) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF id < 0 THEN
    CALL mintage__refuse_value(CONCAT('id ', id, ' is negative'));
  END IF;
  RETURN mintage__digits(id, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 11);
END //

DROP FUNCTION IF EXISTS mintage_id_from_base62 //
CREATE FUNCTION mintage_id_from_base62(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CAST(mintage__undigits(digits, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 11, 9223372036854775808, 'the base62 of a 64-bit id') AS SIGNED) //

DROP FUNCTION IF EXISTS mintage_id_to_base32 //
CREATE FUNCTION mintage_id_to_base32(id BIGINT) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  IF id < 0 THEN
    CALL mintage__refuse_value(CONCAT('id ', id, ' is negative'));
  END IF;
  RETURN mintage__digits(id, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13);
END //

DROP FUNCTION IF EXISTS mintage_id_from_base32 //
CREATE FUNCTION mintage_id_from_base32(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN CAST(mintage__undigits(UPPER(digits), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13, 9223372036854775808, 'the base32 of a 64-bit id') AS SIGNED) //

-- ULIDs ----------------------------------------------------------------------------------------------------------

-- The same 128 bits as a uuid.
DROP FUNCTION IF EXISTS mintage_ulid_to_uuid //
CREATE FUNCTION mintage_ulid_to_uuid(ulid VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS CHAR(36) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__uuid_undigits(UPPER(ulid), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26, 'a ulid') //

DROP FUNCTION IF EXISTS mintage_uuid_to_ulid //
CREATE FUNCTION mintage_uuid_to_ulid(id VARCHAR(64) CHARACTER SET ascii) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_to_base32(id) //

-- At a time, rounded down to the millisecond; 80 random bits.
DROP FUNCTION IF EXISTS mintage_ulid_at //
CREATE FUNCTION mintage_ulid_at(ts DATETIME(6)) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_to_base32(CONCAT(LPAD(HEX(mintage__unix_us('a ulid', ts) DIV 1000), 12, '0'), HEX(mintage__random(10)))) //

DROP FUNCTION IF EXISTS mintage_ulid //
CREATE FUNCTION mintage_ulid() RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_ulid_at(mintage__now()) //

DROP FUNCTION IF EXISTS mintage_ulid_timestamp //
CREATE FUNCTION mintage_ulid_timestamp(ulid VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage__at((mintage__hi(mintage_ulid_to_uuid(ulid)) >> 16) * 1000 + 12219292800000000) //

DROP FUNCTION IF EXISTS mintage_ulid_min //
CREATE FUNCTION mintage_ulid_min(ts DATETIME(6)) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_to_base32(mintage__pair((mintage__unix_us('a ulid', ts) DIV 1000) << 16, 0)) //

DROP FUNCTION IF EXISTS mintage_ulid_max //
CREATE FUNCTION mintage_ulid_max(ts DATETIME(6)) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_uuid_to_base32(mintage__pair(((mintage__unix_us('a ulid', ts) DIV 1000) << 16) | 65535, 18446744073709551615)) //

DROP FUNCTION IF EXISTS mintage_ulid_before //
CREATE FUNCTION mintage_ulid_before(ts DATETIME(6)) RETURNS VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN mintage_ulid_max(TIMESTAMPADD(MICROSECOND, -1, ts)) //

