-- Versions 4, 7 and 8 ---------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION @extschema@.uuid_v4() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS
$$ SELECT gen_random_uuid() $$;

-- The first half of a version 7 uuid of a time (microseconds since 1970), rand_a holding the fraction of the
-- millisecond in 4096ths, rounded down.
CREATE OR REPLACE FUNCTION @extschema@._v7_hi(us bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ((us / 1000) << 16) | 28672 | ((us % 1000) * 4096 / 1000) $$;

-- At a time, rounded down to the millisecond; 74 random bits.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v7(ts timestamptz) RETURNS uuid
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE AS $$
DECLARE
  us bigint := @extschema@._unix_us('a uuid of version 7', ts);
  random uuid := gen_random_uuid();
BEGIN
  RETURN @extschema@._uuid(((us / 1000) << 16) | 28672 | (@extschema@._hi(random) & 4095), @extschema@._lo(random));
END $$;

-- At a time, to the microsecond; 62 random bits.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v7_submilli(ts timestamptz) RETURNS uuid
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v7_hi(@extschema@._unix_us('a uuid of version 7', ts)),
                            @extschema@._lo(gen_random_uuid())) $$;

-- Now, to the microsecond (clock_timestamp(), not the start of the transaction). PostgreSQL 18 has its own.
DO $do$
BEGIN
  IF to_regprocedure('pg_catalog.uuidv7()') IS NULL THEN
    CREATE OR REPLACE FUNCTION @extschema@.uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS
    $$ SELECT @extschema@.uuid_v7_submilli(clock_timestamp()) $$;
  ELSE
    CREATE OR REPLACE FUNCTION @extschema@.uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS
    $$ SELECT pg_catalog.uuidv7() $$;
  END IF;
END $do$;

-- Now, moved by an interval: hides the true time or spreads a hot index.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v7_shift(shift interval) RETURNS uuid
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.uuid_v7_submilli(clock_timestamp() + shift) $$;

-- Back-fill: row n of one microsecond. Milliseconds 48, fraction 12, n 18 bits, then 44 others: ids rise with (ts, n).
CREATE OR REPLACE FUNCTION @extschema@._form_v7(ts timestamptz, n bigint, below bigint) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF n < 0 OR n > 262143 THEN
    RAISE EXCEPTION 'no id is left for row % of %: rows 0 to 262143 of one microsecond fit', n, ts
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN @extschema@._uuid(@extschema@._v7_hi(@extschema@._unix_us('a uuid of version 7', ts)),
                           (~9223372036854775807) | (n << 44) | (below & 17592186044415));
END $$;

-- The 44 bits below n are random.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v7(ts timestamptz, n bigint) RETURNS uuid
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_v7(ts, n, @extschema@._lo(gen_random_uuid())) $$;

-- Repeatable: the 44 bits below n are the SHA-256 of a key.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v7_keyed(ts timestamptz, key text, n bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_v7(ts, n, @extschema@._hash64(key)) $$;

-- Repeatable: all 62 bits below the fraction are the SHA-256 of a key, which should name the row.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v7_keyed(ts timestamptz, key text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v7_hi(@extschema@._unix_us('a uuid of version 7', ts)),
                            (@extschema@._hash64(key) & 4611686018427387903) | (~9223372036854775807)) $$;

-- From every field: milliseconds (48 bits), rand_a (12) and rand_b (62).
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v7_fields(unix_ts_ms bigint, rand_a integer, rand_b bigint) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF unix_ts_ms < 0 OR unix_ts_ms > 281474976710655 OR rand_a < 0 OR rand_a > 4095
     OR rand_b < 0 OR rand_b > 4611686018427387903 THEN
    RAISE EXCEPTION 'unix_ts_ms %, rand_a %, rand_b % do not fit: 48, 12 and 62 bits', unix_ts_ms, rand_a, rand_b
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN @extschema@._uuid((unix_ts_ms << 16) | 28672 | rand_a, rand_b | (~9223372036854775807));
END $$;

-- Bounds, inclusive, for BETWEEN: of the millisecond of a time.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v7_min(ts timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(((@extschema@._unix_us('a uuid of version 7', ts) / 1000) << 16) | 28672, ~9223372036854775807) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v7_max(ts timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(((@extschema@._unix_us('a uuid of version 7', ts) / 1000) << 16) | 32767, -4611686018427387905) $$;

-- The smallest and the largest id that an event in [from_ts, to_ts) can have; NULLs if the range is empty. Ids know
-- milliseconds only, so the range begins with the millisecond of from_ts and ends with that of the last microsecond.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v7_range(from_ts timestamptz, to_ts timestamptz, OUT first_id uuid, OUT last_id uuid)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT CASE WHEN from_ts < to_ts THEN @extschema@.uuid_v7_min(from_ts) END,
          CASE WHEN from_ts < to_ts THEN @extschema@._uuid(
            (((@extschema@._unix_us('a uuid of version 7', to_ts) - 1) / 1000) << 16) | 32767, -4611686018427387905) END $$;

-- Version 8: bytes of your own; only version and variant are written over.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v8(custom bytea) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF length(custom) <> 16 THEN
    RAISE EXCEPTION 'a version 8 uuid has 16 bytes, found %', length(custom) USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN @extschema@._stamped(custom, 8);
END $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v8(custom_a bigint, custom_b integer, custom_c bigint) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF custom_a < 0 OR custom_a > 281474976710655 OR custom_b < 0 OR custom_b > 4095
     OR custom_c < 0 OR custom_c > 4611686018427387903 THEN
    RAISE EXCEPTION 'custom_a %, custom_b %, custom_c % do not fit: 48, 12 and 62 bits', custom_a, custom_b, custom_c
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN @extschema@._uuid((custom_a << 16) | 32768 | custom_b, custom_c | (~9223372036854775807));
END $$;
