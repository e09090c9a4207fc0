-- The version of this pack ------------------------------------------------------------------------------------------

DROP FUNCTION IF EXISTS mintage_pack_version //
CREATE FUNCTION mintage_pack_version() RETURNS VARCHAR(20) CHARACTER SET ascii
DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN '@version@' //
