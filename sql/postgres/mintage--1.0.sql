-- The first version: versions 1 and 6 exact to the tick, and the readers. Kept as it was: updates start from it.
\echo Use "CREATE EXTENSION mintage VERSION '1.0'" to load this file. \quit

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
  IF us < -946684800000000 OR us > 280530292020655999 THEN
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

-- Reading ---------------------------------------------------------------------------------------------------------
-- Readers are IMMUTABLE STRICT PARALLEL SAFE: they may stand in index expressions. Each has a _strict twin that raises
-- 22023 where the plain one answers NULL. They are PL/pgSQL because the planner does not inline an SQL function that is
-- STRICT and has a CASE, and a call that is not inlined costs fifty times as much.

-- The version if the variant is RFC 9562's, else some number of 1024 or more.
CREATE OR REPLACE FUNCTION @extschema@._version(id uuid) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT (get_byte(uuid_send(id), 6) >> 4) + ((get_byte(uuid_send(id), 8) & 192) # 128) * 16 $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_variant(id uuid) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN get_byte(uuid_send(id), 8) < 128 THEN 'ncs' WHEN get_byte(uuid_send(id), 8) < 192 THEN 'rfc9562'
               WHEN get_byte(uuid_send(id), 8) < 224 THEN 'microsoft' ELSE 'future' END; END $$;

-- NULL unless the variant is RFC 9562's: other variants have no versions.
CREATE OR REPLACE FUNCTION @extschema@.uuid_version(id uuid) RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN get_byte(uuid_send(id), 8) & 192 = 128 THEN get_byte(uuid_send(id), 6) >> 4 END; END $$;

-- Ticks of 100 ns since 1582-10-15 00:00 UTC, of versions 1 and 6.
CREATE OR REPLACE FUNCTION @extschema@.uuid_ticks(id uuid) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE @extschema@._version(id) WHEN 1 THEN @extschema@._v1_ticks(@extschema@._hi(id))
                                            WHEN 6 THEN @extschema@._v6_ticks(@extschema@._hi(id)) END; END $$;

-- What uuid_timestamp floors away: 0 to 9 ticks of 100 ns, of versions 1 and 6.
CREATE OR REPLACE FUNCTION @extschema@.uuid_timestamp_100ns(id uuid) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT (@extschema@.uuid_ticks(id) % 10)::integer $$;

-- The time of a version 1 uuid, floored to the microsecond.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v1_timestamp(id uuid) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN @extschema@._version(id) = 1
               THEN @extschema@._at(@extschema@._v1_ticks(@extschema@._hi(id)) / 10) END; END $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v6_timestamp(id uuid) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN @extschema@._version(id) = 6
               THEN @extschema@._at(@extschema@._v6_ticks(@extschema@._hi(id)) / 10) END; END $$;

-- The time of a version 7 uuid, in milliseconds.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v7_timestamp(id uuid) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN @extschema@._version(id) = 7
               THEN @extschema@._at(((@extschema@._hi(id) >> 16) & 281474976710655) * 1000 + 12219292800000000) END; END $$;

-- The same to the microsecond, if rand_a was made as a 12-bit fraction of the millisecond (form_uuid_v7, uuid_v7_submilli
-- and uuid_v7() do that, other makers may not). Rounds up: encoding floors, and a floor here would be 1 us low.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v7_timestamp_submilli(id uuid) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN @extschema@._version(id) = 7
               THEN @extschema@._at(((@extschema@._hi(id) >> 16) & 281474976710655) * 1000 + 12219292800000000
                    + CASE WHEN @extschema@._hi(id) & 4095 > 4091 THEN 999
                           ELSE ((@extschema@._hi(id) & 4095) * 1000 + 4095) / 4096 END) END; END $$;

-- The time of a uuid of version 1, 6 or 7.
CREATE OR REPLACE FUNCTION @extschema@.uuid_timestamp(id uuid) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE @extschema@._version(id)
     WHEN 1 THEN @extschema@._at(@extschema@._v1_ticks(@extschema@._hi(id)) / 10)
     WHEN 6 THEN @extschema@._at(@extschema@._v6_ticks(@extschema@._hi(id)) / 10)
     WHEN 7 THEN @extschema@._at(((@extschema@._hi(id) >> 16) & 281474976710655) * 1000 + 12219292800000000) END; END $$;

-- The node of a version 1, 2 or 6 uuid.
CREATE OR REPLACE FUNCTION @extschema@.uuid_node(id uuid) RETURNS macaddr
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN @extschema@._version(id) IN (1, 2, 6) THEN right(id::text, 12)::macaddr END; END $$;

-- The clock sequence of a version 1 or 6 uuid, 0 to 16383.
CREATE OR REPLACE FUNCTION @extschema@.uuid_clock_seq(id uuid) RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN @extschema@._version(id) IN (1, 6)
               THEN ((get_byte(uuid_send(id), 8) & 63) << 8) | get_byte(uuid_send(id), 9) END; END $$;

-- Version 1 and version 6 hold the same bits in another order; nothing is lost either way.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v1_to_v6(id uuid) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN @extschema@._version(id) = 1
     THEN @extschema@._uuid(@extschema@._v6_hi(@extschema@._v1_ticks(@extschema@._hi(id))), @extschema@._lo(id)) END; END $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v6_to_v1(id uuid) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN CASE WHEN @extschema@._version(id) = 6
     THEN @extschema@._uuid(@extschema@._v1_hi(@extschema@._v6_ticks(@extschema@._hi(id))), @extschema@._lo(id)) END; END $$;

-- The strict twins differ in nothing but the refusal, so one loop writes them.
DO $do$
DECLARE
  twin record;
BEGIN
  FOR twin IN SELECT * FROM (VALUES
      ('uuid_version', 'integer', 'a uuid of the RFC 9562 variant'),
      ('uuid_ticks', 'bigint', 'of version 1 or 6'),
      ('uuid_timestamp_100ns', 'integer', 'of version 1 or 6'),
      ('uuid_v1_timestamp', 'timestamptz', 'of version 1'),
      ('uuid_v6_timestamp', 'timestamptz', 'of version 6'),
      ('uuid_v7_timestamp', 'timestamptz', 'of version 7'),
      ('uuid_v7_timestamp_submilli', 'timestamptz', 'of version 7'),
      ('uuid_timestamp', 'timestamptz', 'of version 1, 6 or 7'),
      ('uuid_node', 'macaddr', 'of version 1, 2 or 6'),
      ('uuid_clock_seq', 'integer', 'of version 1 or 6'),
      ('uuid_v1_to_v6', 'uuid', 'of version 1'),
      ('uuid_v6_to_v1', 'uuid', 'of version 6')) AS t (name, type, wanted)
  LOOP
    EXECUTE format($f$
      CREATE OR REPLACE FUNCTION @extschema@.%I(id uuid) RETURNS %s
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $body$
      DECLARE
        answer %s := @extschema@.%I(id);
      BEGIN
        IF answer IS NULL THEN
          PERFORM @extschema@._refuse_uuid(id, %L);
        END IF;
        RETURN answer;
      END $body$ $f$, twin.name || '_strict', twin.type, twin.type, twin.name, twin.wanted);
  END LOOP;
END $do$;

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

CREATE OR REPLACE FUNCTION @extschema@.pack_version() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '1.0' $$;
