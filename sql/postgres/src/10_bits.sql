-- Bits -----------------------------------------------------------------------------------------------------------
-- Names that begin with an underscore are internal. All arithmetic is on bigint; nothing goes through a double.

-- Microseconds since 2000-01-01 00:00 UTC: the 64-bit integer that a timestamptz is, on every version, whatever the
-- session's TimeZone. The infinities are the ends of bigint, so every range check refuses them.
CREATE OR REPLACE FUNCTION @extschema@._us(ts timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || encode(timestamptz_send(ts), 'hex'))::bit(64)::bigint $$;

-- The instant so many microseconds (0 or more) after 1582-10-15 00:00 UTC. Days and microseconds of the day are added
-- apart: interval multiplication is exact for integers below 2^53, and 8.64e10 is far below.
CREATE OR REPLACE FUNCTION @extschema@._at(us_since_1582 bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT (date '1582-10-15' + (us_since_1582 / 86400000000)::integer
           + interval '1 microsecond' * (us_since_1582 % 86400000000)) AT TIME ZONE 'UTC' $$;

CREATE OR REPLACE FUNCTION @extschema@._uuid(hi bigint, lo bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT (lpad(to_hex(hi), 16, '0') || lpad(to_hex(lo), 16, '0'))::uuid $$;

CREATE OR REPLACE FUNCTION @extschema@._hi(id uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || encode(substring(uuid_send(id) FROM 1 FOR 8), 'hex'))::bit(64)::bigint $$;

CREATE OR REPLACE FUNCTION @extschema@._lo(id uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || encode(substring(uuid_send(id) FROM 9 FOR 8), 'hex'))::bit(64)::bigint $$;

CREATE OR REPLACE FUNCTION @extschema@._node(mac macaddr) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || encode(macaddr_send(mac), 'hex'))::bit(48)::bigint $$;

-- A hash as a UUID: the first 16 bytes, then version and variant over them.
CREATE OR REPLACE FUNCTION @extschema@._stamped(bytes bytea, version integer) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT encode(set_byte(set_byte(substring(bytes FROM 1 FOR 16),
     6, (get_byte(bytes, 6) & 15) | (version << 4)),
     8, (get_byte(bytes, 8) & 63) | 128), 'hex')::uuid $$;

-- The first eight bytes of a text's SHA-256.
CREATE OR REPLACE FUNCTION @extschema@._hash64(key text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN ('x' || encode(substring(sha256(convert_to(key, 'UTF8')) FROM 1 FOR 8), 'hex'))::bit(64)::bigint;
END $$;

CREATE OR REPLACE FUNCTION @extschema@._refuse_time(what text, ts timestamptz, first text, last text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RAISE EXCEPTION 'timestamp % does not fit %: the range is % to % UTC', ts, what, first, last
    USING ERRCODE = 'datetime_field_overflow';
END $$;

CREATE OR REPLACE FUNCTION @extschema@._refuse_uuid(id uuid, wanted text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RAISE EXCEPTION 'uuid % is not %', id, wanted
    USING ERRCODE = 'invalid_parameter_value',
          HINT = 'The function of the same name without _strict answers NULL instead.';
END $$;

-- 100 ns ticks since 1582-10-15 of a time, or 22008.
CREATE OR REPLACE FUNCTION @extschema@._ticks(ts timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  us bigint := @extschema@._us(ts);
BEGIN
  IF us < -13165977600000000 OR us > 102126172860684697 THEN
    PERFORM @extschema@._refuse_time('a uuid of version 1 or 6', ts,
                                     '1582-10-15 00:00:00', '5236-03-31 21:21:00.684697');
  END IF;
  RETURN (us + 13165977600000000) * 10;
END $$;

-- Microseconds since 1970 of a time that fits 48 bits of milliseconds, or 22008.
CREATE OR REPLACE FUNCTION @extschema@._unix_us(what text, ts timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  us bigint := @extschema@._us(ts);
BEGIN
  IF us < -946684800000000 OR us > 280528291910655999 THEN
    PERFORM @extschema@._refuse_time(what, ts, '1970-01-01 00:00:00', '10889-08-02 05:31:50.655999');
  END IF;
  RETURN us + 946684800000000;
END $$;

-- The first half of a version 1 or 6 uuid.
CREATE OR REPLACE FUNCTION @extschema@._v1_hi(ticks bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT (ticks << 32) | ((ticks >> 16) & 4294901760) | 4096 | (ticks >> 48) $$;

CREATE OR REPLACE FUNCTION @extschema@._v6_hi(ticks bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ((ticks >> 12) << 16) | 24576 | (ticks & 4095) $$;

CREATE OR REPLACE FUNCTION @extschema@._v1_ticks(hi bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ((hi >> 32) & 4294967295) | ((hi & 4294901760) << 16) | ((hi & 4095) << 48) $$;

CREATE OR REPLACE FUNCTION @extschema@._v6_ticks(hi bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT (((hi >> 16) & 281474976710655) << 12) | (hi & 4095) $$;
