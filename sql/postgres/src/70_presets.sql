-- Snowflake presets: written from the library's table; a test keeps the two equal -----------------------------------

CREATE OR REPLACE FUNCTION @extschema@.snowflake_preset(preset text,
  OUT epoch_us bigint, OUT tick_us bigint, OUT bits integer, OUT time_bits integer, OUT time_shift integer,
  OUT worker_bits integer, OUT worker_shift integer, OUT sequence_bits integer, OUT sequence_shift integer,
  OUT constant_mask bigint, OUT constant_value bigint,
  OUT field_names text[], OUT field_bits integer[], OUT field_shifts integer[])
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  CASE preset
  -- begin presets
  WHEN 'twitter' THEN
    epoch_us := 1288834974657000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,datacenter,worker,sequence}'; field_bits := '{41,5,5,12}'; field_shifts := '{22,17,12,0}';
  -- end presets
  ELSE
    RAISE EXCEPTION 'no snowflake preset is called "%"', preset USING ERRCODE = 'invalid_parameter_value',
      HINT = 'snowflake_presets() lists them.';
  END CASE;
END $$;

CREATE OR REPLACE FUNCTION @extschema@.snowflake_presets() RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
  SELECT unnest(ARRAY[
  -- begin names
    'twitter'
  -- end names
  ]) $$;
