-- Versions 1 and 6 ------------------------------------------------------------------------------------------------

-- 47 random bits and the multicast bit (RFC 9562 section 6.10).
CREATE OR REPLACE FUNCTION @extschema@._random_node() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE AS
$$ SELECT (@extschema@._lo(gen_random_uuid()) & 281474976710655) | 1099511627776 $$;

-- Variant, clock sequence and multicast node from a key.
CREATE OR REPLACE FUNCTION @extschema@._hash_lo(key text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT (@extschema@._hash64(key) & 4611686018427387903) | (~9223372036854775807) | 1099511627776 $$;

-- The last tick in the microsecond of a time: the very last microsecond has only six.
CREATE OR REPLACE FUNCTION @extschema@._last_tick(ts timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT LEAST(@extschema@._ticks(ts), 1152921504606846966) + 9 $$;

CREATE OR REPLACE FUNCTION @extschema@._form_gregorian(version integer, ticks bigint, clock_seq integer, node bigint)
RETURNS uuid LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF clock_seq < 0 OR clock_seq > 16383 THEN
    RAISE EXCEPTION 'clock sequence % does not fit: 14 bits, 0 to 16383', clock_seq
      USING ERRCODE = 'numeric_value_out_of_range';
  ELSIF ticks > 1152921504606846975 THEN
    -- Only rows of the very last microsecond get here: it has six ticks, not ten.
    RAISE EXCEPTION 'no id is left: tick % is past the last one, 1152921504606846975', ticks
      USING ERRCODE = 'numeric_value_out_of_range', HINT = 'Give further rows another node.';
  END IF;
  RETURN @extschema@._uuid(
    CASE version WHEN 1 THEN @extschema@._v1_hi(ticks) ELSE @extschema@._v6_hi(ticks) END,
    (~9223372036854775807) | (clock_seq::bigint << 48) | node);
END $$;

-- The n-th id of a microsecond: (tick, clock sequence) counted as one number from (0, clock_seq), so ids rise with n.
-- Ten ticks of 16384 clock sequences are 163840 ids for each microsecond and node, less clock_seq.
CREATE OR REPLACE FUNCTION @extschema@._form_nth(version integer, ts timestamptz, clock_seq integer, node bigint, n bigint)
RETURNS uuid LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF n < 0 OR n > 163839 OR clock_seq BETWEEN 0 AND 16383 AND n + clock_seq > 163839 THEN
    RAISE EXCEPTION 'no id is left for row % of %: from clock sequence % on, rows 0 to % of one microsecond and node fit',
      n, ts, clock_seq, 163839 - clock_seq
      USING ERRCODE = 'numeric_value_out_of_range', HINT = 'Give further rows another node.';
  ELSIF clock_seq BETWEEN 0 AND 16383 THEN
    RETURN @extschema@._form_gregorian(version, @extschema@._ticks(ts) + ((n + clock_seq) >> 14),
                                       ((n + clock_seq) & 16383)::integer, node);
  END IF;
  RETURN @extschema@._form_gregorian(version, @extschema@._ticks(ts), clock_seq, node);
END $$;

-- From everything given. The time is exact: 100 ns ticks, 1582-10-15 to 5236-03-31, else 22008.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v1(ts timestamptz, clock_seq integer, mac macaddr) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_gregorian(1, @extschema@._ticks(ts), clock_seq, @extschema@._node(mac)) $$;

CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v6(ts timestamptz, clock_seq integer, mac macaddr) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_gregorian(6, @extschema@._ticks(ts), clock_seq, @extschema@._node(mac)) $$;

-- Back-fill: row n (0, 1, ...) of one microsecond.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v1(ts timestamptz, clock_seq integer, mac macaddr, n bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_nth(1, ts, clock_seq, @extschema@._node(mac), n) $$;

CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v6(ts timestamptz, clock_seq integer, mac macaddr, n bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_nth(6, ts, clock_seq, @extschema@._node(mac), n) $$;

-- What is not given is random: clock sequence, and a node with the multicast bit.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v1(ts timestamptz, clock_seq integer) RETURNS uuid
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_gregorian(1, @extschema@._ticks(ts), clock_seq, @extschema@._random_node()) $$;

CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v6(ts timestamptz, clock_seq integer) RETURNS uuid
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_gregorian(6, @extschema@._ticks(ts), clock_seq, @extschema@._random_node()) $$;

CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v1(ts timestamptz) RETURNS uuid
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v1_hi(@extschema@._ticks(ts)),
                            @extschema@._lo(gen_random_uuid()) | 1099511627776) $$;

CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v6(ts timestamptz) RETURNS uuid
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v6_hi(@extschema@._ticks(ts)),
                            @extschema@._lo(gen_random_uuid()) | 1099511627776) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v1() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS
$$ SELECT @extschema@.form_uuid_v1(clock_timestamp()) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v6() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS
$$ SELECT @extschema@.form_uuid_v6(clock_timestamp()) $$;

-- Of ticks of 100 ns since 1582-10-15 00:00 UTC, for what a timestamptz cannot say.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v1_ticks(ticks bigint, clock_seq integer, mac macaddr) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF ticks < 0 OR ticks > 1152921504606846975 THEN
    RAISE EXCEPTION '% ticks do not fit: 60 bits, 0 to 1152921504606846975', ticks
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN @extschema@._form_gregorian(1, ticks, clock_seq, @extschema@._node(mac));
END $$;

CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v6_ticks(ticks bigint, clock_seq integer, mac macaddr) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.uuid_v1_to_v6(@extschema@.form_uuid_v1_ticks(ticks, clock_seq, mac)) $$;

-- Repeatable: clock sequence and node (multicast bit set) are the SHA-256 of a key: the same row, the same id.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v1_keyed(ts timestamptz, key text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v1_hi(@extschema@._ticks(ts)), @extschema@._hash_lo(key)) $$;

CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v6_keyed(ts timestamptz, key text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v6_hi(@extschema@._ticks(ts)), @extschema@._hash_lo(key)) $$;

-- Repeatable and counted: the node is the hash of a key (a table's name, say), n counts its rows of one microsecond.
CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v1_keyed(ts timestamptz, key text, n bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_nth(1, ts, 0, @extschema@._hash_lo(key) & 281474976710655, n) $$;

CREATE OR REPLACE FUNCTION @extschema@.form_uuid_v6_keyed(ts timestamptz, key text, n bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._form_nth(6, ts, 0, @extschema@._hash_lo(key) & 281474976710655, n) $$;

-- Bounds: the smallest and the largest id of one microsecond. Version 6 sorts by time; version 1 does not as bytes:
-- compare uuid_v1_timestamp(id) or uuid_v1_to_v6(id) instead, both of which can be indexed.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v1_min(ts timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v1_hi(@extschema@._ticks(ts)), ~9223372036854775807) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v1_max(ts timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v1_hi(@extschema@._last_tick(ts)), -4611686018427387905) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v6_min(ts timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v6_hi(@extschema@._ticks(ts)), ~9223372036854775807) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v6_max(ts timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid(@extschema@._v6_hi(@extschema@._last_tick(ts)), -4611686018427387905) $$;

-- The smallest and the largest id of the half-open range [from_ts, to_ts), for BETWEEN; NULLs if it is empty.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v6_range(from_ts timestamptz, to_ts timestamptz, OUT first_id uuid, OUT last_id uuid)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT CASE WHEN from_ts < to_ts THEN @extschema@.uuid_v6_min(from_ts) END,
          CASE WHEN from_ts < to_ts THEN @extschema@._uuid(@extschema@._v6_hi(@extschema@._ticks(to_ts) - 1), -4611686018427387905) END $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v1_range(from_ts timestamptz, to_ts timestamptz, OUT first_id uuid, OUT last_id uuid)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT CASE WHEN from_ts < to_ts THEN @extschema@.uuid_v1_min(from_ts) END,
          CASE WHEN from_ts < to_ts THEN @extschema@._uuid(@extschema@._v1_hi(@extschema@._ticks(to_ts) - 1), -4611686018427387905) END $$;
