-- The version of this pack ------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION @extschema@.pack_version() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '@version@' $$;
