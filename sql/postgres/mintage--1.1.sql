-- Generated from src/; see docs/sql.md.
\echo Use "CREATE EXTENSION mintage VERSION '1.1'" to load this file. \quit

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

-- Versions 3, 5 and 8 from names; nil and max ---------------------------------------------------------------------

CREATE OR REPLACE FUNCTION @extschema@.uuid_nil() RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '00000000-0000-0000-0000-000000000000'::uuid $$;
CREATE OR REPLACE FUNCTION @extschema@.uuid_max() RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid $$;
CREATE OR REPLACE FUNCTION @extschema@.ns_dns() RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid $$;
CREATE OR REPLACE FUNCTION @extschema@.ns_url() RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '6ba7b811-9dad-11d1-80b4-00c04fd430c8'::uuid $$;
CREATE OR REPLACE FUNCTION @extschema@.ns_oid() RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '6ba7b812-9dad-11d1-80b4-00c04fd430c8'::uuid $$;
CREATE OR REPLACE FUNCTION @extschema@.ns_x500() RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '6ba7b814-9dad-11d1-80b4-00c04fd430c8'::uuid $$;

-- SHA-1 (FIPS 180-4) for servers without pgcrypto: PostgreSQL's core has none. Words of 32 bits in bigint.
CREATE OR REPLACE FUNCTION @extschema@._sha1_plain(message bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  mask CONSTANT bigint := 4294967295;
  padded bytea := message || decode('80', 'hex') || decode(repeat('00', (119 - length(message) % 64) % 64), 'hex')
                  || int8send(length(message)::bigint * 8);
  w bigint[];
  h0 bigint := 1732584193; h1 bigint := 4023233417; h2 bigint := 2562383102;
  h3 bigint := 271733878; h4 bigint := 3285377520;
  a bigint; b bigint; c bigint; d bigint; e bigint; t bigint;
BEGIN
  FOR block IN 0 .. length(padded) / 64 - 1 LOOP
    FOR i IN 0 .. 15 LOOP
      w[i] := ('x' || encode(substring(padded FROM block * 64 + i * 4 + 1 FOR 4), 'hex'))::bit(32)::bigint;
    END LOOP;
    FOR i IN 16 .. 79 LOOP
      t := w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16];
      w[i] := ((t << 1) | (t >> 31)) & mask;
    END LOOP;
    a := h0; b := h1; c := h2; d := h3; e := h4;
    FOR i IN 0 .. 79 LOOP
      t := (((a << 5) | (a >> 27)) & mask) + e + w[i]
           + CASE WHEN i < 20 THEN (d # (b & (c # d))) + 1518500249
                  WHEN i < 40 THEN (b # c # d) + 1859775393
                  WHEN i < 60 THEN ((b & c) | (d & (b | c))) + 2400959708
                  ELSE (b # c # d) + 3395469782 END;
      e := d; d := c; c := ((b << 30) | (b >> 2)) & mask; b := a; a := t & mask;
    END LOOP;
    h0 := (h0 + a) & mask; h1 := (h1 + b) & mask; h2 := (h2 + c) & mask; h3 := (h3 + d) & mask; h4 := (h4 + e) & mask;
  END LOOP;
  RETURN decode(lpad(to_hex(h0), 8, '0') || lpad(to_hex(h1), 8, '0') || lpad(to_hex(h2), 8, '0')
                || lpad(to_hex(h3), 8, '0') || lpad(to_hex(h4), 8, '0'), 'hex');
END $$;

-- pgcrypto's SHA-1 is fifty times as fast: use it where it was installed before this pack and still is.
DO $do$
DECLARE
  crypto text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
                  WHERE e.extname = 'pgcrypto');
BEGIN
  IF crypto IS NULL THEN
    CREATE OR REPLACE FUNCTION @extschema@._sha1(message bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT @extschema@._sha1_plain(message) $$;
  ELSE
    EXECUTE format($f$
      CREATE OR REPLACE FUNCTION @extschema@._sha1(message bytea) RETURNS bytea
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $body$
      BEGIN
        IF to_regprocedure(%L) IS NULL THEN
          RETURN @extschema@._sha1_plain(message);
        END IF;
        RETURN %s.digest(message, 'sha1');
      END $body$ $f$, crypto || '.digest(bytea,text)', crypto);
  END IF;
END $do$;

-- A name is hashed byte for byte, a text as UTF-8; nothing is folded or trimmed.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v3(namespace uuid, name bytea) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._stamped(decode(md5(uuid_send(namespace) || name), 'hex'), 3) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v5(namespace uuid, name bytea) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._stamped(@extschema@._sha1(uuid_send(namespace) || name), 5) $$;

-- RFC 9562 appendix B.2: version 8 from SHA-256.
CREATE OR REPLACE FUNCTION @extschema@.uuid_v8_sha256(namespace uuid, name bytea) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._stamped(sha256(uuid_send(namespace) || name), 8) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v3(namespace uuid, name text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN @extschema@.uuid_v3(namespace, convert_to(name, 'UTF8')); END $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v5(namespace uuid, name text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN @extschema@.uuid_v5(namespace, convert_to(name, 'UTF8')); END $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_v8_sha256(namespace uuid, name text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN @extschema@.uuid_v8_sha256(namespace, convert_to(name, 'UTF8')); END $$;

-- Text forms: fixed width, zeros in front, so text sorts as the ids do (under COLLATE "C") -------------------------

-- A half of a uuid as an unsigned number. Not STRICT, so that it is inlined.
CREATE OR REPLACE FUNCTION @extschema@._unsigned(half bigint) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN half < 0 THEN half + 18446744073709551616 ELSE half::numeric END $$;

CREATE OR REPLACE FUNCTION @extschema@._signed(half numeric) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN half > 9223372036854775807 THEN half - 18446744073709551616 ELSE half END::bigint $$;

-- A number in exactly so many digits of an alphabet. Ten digits at a time, so that most of the work is on bigint.
CREATE OR REPLACE FUNCTION @extschema@._digits(value numeric, alphabet text, width integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  base bigint := length(alphabet);
  chunk_base numeric := (base::numeric ^ 10)::numeric(30, 0);
  rest numeric := value;
  chunk bigint;
  answer text := '';
BEGIN
  WHILE length(answer) < width LOOP
    chunk := mod(rest, chunk_base)::bigint;
    rest := div(rest, chunk_base);
    FOR i IN 1 .. LEAST(10, width - length(answer)) LOOP
      answer := substr(alphabet, (chunk % base)::integer + 1, 1) || answer;
      chunk := chunk / base;
    END LOOP;
  END LOOP;
  RETURN answer;
END $$;

-- The number behind a text of exactly so many digits, smaller than a limit; else 22P02.
CREATE OR REPLACE FUNCTION @extschema@._number(text text, alphabet text, width integer, bound numeric, what text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  base bigint := length(alphabet);
  answer numeric := 0;
  digit integer;
BEGIN
  IF length(text) <> width THEN
    RAISE EXCEPTION '% has % characters, found %', what, width, length(text) USING ERRCODE = 'invalid_text_representation';
  END IF;
  FOR i IN 1 .. width LOOP
    digit := strpos(alphabet, substr(text, i, 1)) - 1;
    IF digit < 0 THEN
      RAISE EXCEPTION 'not %: character % of "%" is not in its alphabet', what, i, text
        USING ERRCODE = 'invalid_text_representation';
    END IF;
    answer := answer * base + digit;
  END LOOP;
  IF answer >= bound THEN
    RAISE EXCEPTION 'not %: the number in "%" is larger than it can be', what, text
      USING ERRCODE = 'invalid_text_representation';
  END IF;
  RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION @extschema@._uuid_digits(id uuid, alphabet text, width integer) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._digits(@extschema@._unsigned(@extschema@._hi(id)) * 18446744073709551616
                              + @extschema@._unsigned(@extschema@._lo(id)), alphabet, width) $$;

CREATE OR REPLACE FUNCTION @extschema@._uuid_number(text text, alphabet text, width integer, what text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  value numeric := @extschema@._number(text, alphabet, width, 340282366920938463463374607431768211456, what);
BEGIN
  RETURN @extschema@._uuid(@extschema@._signed(div(value, 18446744073709551616)),
                           @extschema@._signed(mod(value, 18446744073709551616)));
END $$;

-- 22 digits of Bitcoin's alphabet.
CREATE OR REPLACE FUNCTION @extschema@.uuid_to_base58(id uuid) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid_digits(id, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 22) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_from_base58(text text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid_number(text, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 22, 'the base58 of a uuid') $$;

-- 22 digits, 0-9A-Za-z.
CREATE OR REPLACE FUNCTION @extschema@.uuid_to_base62(id uuid) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid_digits(id, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 22) $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_from_base62(text text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid_number(text, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 22, 'the base62 of a uuid') $$;

-- 26 digits of Crockford's base32: the ULID with the same bits. Reading takes either case.
CREATE OR REPLACE FUNCTION @extschema@.uuid_to_base32(id uuid) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  hi bigint := @extschema@._hi(id);
  lo bigint := @extschema@._lo(id);
  d CONSTANT text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
BEGIN
  -- Five bits a digit need no division: a tenth of the time of the other alphabets.
  RETURN substr(d, (((hi >> 61) & 7) + 1)::integer, 1) || substr(d, (((hi >> 56) & 31) + 1)::integer, 1) || substr(d, (((hi >> 51) & 31) + 1)::integer, 1)
         || substr(d, (((hi >> 46) & 31) + 1)::integer, 1) || substr(d, (((hi >> 41) & 31) + 1)::integer, 1) || substr(d, (((hi >> 36) & 31) + 1)::integer, 1)
         || substr(d, (((hi >> 31) & 31) + 1)::integer, 1) || substr(d, (((hi >> 26) & 31) + 1)::integer, 1) || substr(d, (((hi >> 21) & 31) + 1)::integer, 1)
         || substr(d, (((hi >> 16) & 31) + 1)::integer, 1) || substr(d, (((hi >> 11) & 31) + 1)::integer, 1) || substr(d, (((hi >> 6) & 31) + 1)::integer, 1)
         || substr(d, (((hi >> 1) & 31) + 1)::integer, 1) || substr(d, (((hi & 1) << 4) + ((lo >> 60) & 15) + 1)::integer, 1) || substr(d, (((lo >> 55) & 31) + 1)::integer, 1)
         || substr(d, (((lo >> 50) & 31) + 1)::integer, 1) || substr(d, (((lo >> 45) & 31) + 1)::integer, 1) || substr(d, (((lo >> 40) & 31) + 1)::integer, 1)
         || substr(d, (((lo >> 35) & 31) + 1)::integer, 1) || substr(d, (((lo >> 30) & 31) + 1)::integer, 1) || substr(d, (((lo >> 25) & 31) + 1)::integer, 1)
         || substr(d, (((lo >> 20) & 31) + 1)::integer, 1) || substr(d, (((lo >> 15) & 31) + 1)::integer, 1) || substr(d, (((lo >> 10) & 31) + 1)::integer, 1)
         || substr(d, (((lo >> 5) & 31) + 1)::integer, 1) || substr(d, (((lo >> 0) & 31) + 1)::integer, 1);
END $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_from_base32(text text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid_number(upper(text), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26, 'the base32 of a uuid') $$;

-- A 64-bit id as text: 11 digits of base58 or base62, 13 of Crockford's base32. Negative ids are refused.
CREATE OR REPLACE FUNCTION @extschema@._id_digits(id bigint, alphabet text, width integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF id < 0 THEN
    RAISE EXCEPTION 'id % is negative', id USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN @extschema@._digits(id, alphabet, width);
END $$;

CREATE OR REPLACE FUNCTION @extschema@.id_to_base58(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._id_digits(id, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 11) $$;

CREATE OR REPLACE FUNCTION @extschema@.id_from_base58(text text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._number(text, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 11,
                              9223372036854775808, 'the base58 of a 64-bit id')::bigint $$;

CREATE OR REPLACE FUNCTION @extschema@.id_to_base62(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._id_digits(id, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 11) $$;

CREATE OR REPLACE FUNCTION @extschema@.id_from_base62(text text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._number(text, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 11,
                              9223372036854775808, 'the base62 of a 64-bit id')::bigint $$;

CREATE OR REPLACE FUNCTION @extschema@.id_to_base32(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._id_digits(id, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13) $$;

CREATE OR REPLACE FUNCTION @extschema@.id_from_base32(text text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._number(upper(text), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13,
                              9223372036854775808, 'the base32 of a 64-bit id')::bigint $$;

-- ULIDs ----------------------------------------------------------------------------------------------------------

-- The same 128 bits as a uuid. The first character of a ULID is 0 to 7.
CREATE OR REPLACE FUNCTION @extschema@.ulid_to_uuid(ulid text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._uuid_number(upper(ulid), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26, 'a ulid') $$;

CREATE OR REPLACE FUNCTION @extschema@.uuid_to_ulid(id uuid) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.uuid_to_base32(id) $$;

-- At a time, rounded down to the millisecond; 80 random bits.
CREATE OR REPLACE FUNCTION @extschema@.ulid(ts timestamptz) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE AS $$
DECLARE
  ms bigint := @extschema@._unix_us('a ulid', ts) / 1000;
  random text := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
BEGIN
  -- 20 hexadecimal digits, none of them from the version or variant of a version 4 uuid.
  RETURN @extschema@.uuid_to_base32((lpad(to_hex(ms), 12, '0') || left(random, 12) || substr(random, 33, 8))::uuid);
END $$;

CREATE OR REPLACE FUNCTION @extschema@.ulid() RETURNS text LANGUAGE sql VOLATILE PARALLEL SAFE AS
$$ SELECT @extschema@.ulid(clock_timestamp()) $$;

-- The time of a ULID, in milliseconds; 22P02 if the text is no ULID.
CREATE OR REPLACE FUNCTION @extschema@.ulid_timestamp(ulid text) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@._at(((@extschema@._hi(@extschema@.ulid_to_uuid(ulid)) >> 16) & 281474976710655) * 1000 + 12219292800000000) $$;

CREATE OR REPLACE FUNCTION @extschema@.ulid_min(ts timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.uuid_to_base32(@extschema@._uuid((@extschema@._unix_us('a ulid', ts) / 1000) << 16, 0)) $$;

CREATE OR REPLACE FUNCTION @extschema@.ulid_max(ts timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.uuid_to_base32(@extschema@._uuid(((@extschema@._unix_us('a ulid', ts) / 1000) << 16) | 65535, -1)) $$;

CREATE OR REPLACE FUNCTION @extschema@.ulid_range(from_ts timestamptz, to_ts timestamptz, OUT first_id text, OUT last_id text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT CASE WHEN from_ts < to_ts THEN @extschema@.ulid_min(from_ts) END,
          CASE WHEN from_ts < to_ts THEN @extschema@.uuid_to_base32(@extschema@._uuid(
            (((@extschema@._unix_us('a ulid', to_ts) - 1) / 1000) << 16) | 65535, -1)) END $$;

-- Snowflake presets: written from the library's table; a test keeps the two equal -----------------------------------

-- Dropped first: its columns may change from version to version.
DROP FUNCTION IF EXISTS @extschema@._preset(text);
CREATE FUNCTION @extschema@._preset(preset text,
  OUT epoch_us bigint, OUT tick_us bigint, OUT bits integer, OUT time_bits integer, OUT time_shift integer,
  OUT worker_bits integer, OUT worker_shift integer, OUT sequence_bits integer, OUT sequence_shift integer,
  OUT sequence_first bigint, OUT sequence_spread bigint, OUT sequence_carry bigint, OUT constant_mask bigint, OUT constant_value bigint,
  OUT field_names text[], OUT field_bits integer[], OUT field_shifts integer[])
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  CASE preset
  -- begin presets
  WHEN 'twitter' THEN
    epoch_us := 1288834974657000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,datacenter,worker,sequence}'; field_bits := '{41,5,5,12}'; field_shifts := '{22,17,12,0}';
  WHEN 'discord' THEN
    epoch_us := 1420070400000000; tick_us := 1000; bits := 64;
    time_bits := 42; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,worker,process,sequence}'; field_bits := '{42,5,5,12}'; field_shifts := '{22,17,12,0}';
  WHEN 'bwmarrin' THEN
    epoch_us := 1288834974657000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,node,step}'; field_bits := '{41,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'leaf' THEN
    epoch_us := 1288834974657000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 100; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,worker,sequence}'; field_bits := '{41,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'instagram' THEN
    epoch_us := 1314220021721000; tick_us := 1000; bits := 64;
    time_bits := 41; time_shift := 23; worker_bits := 13; worker_shift := 10; sequence_bits := 10; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,shard,sequence}'; field_bits := '{41,13,10}'; field_shifts := '{23,10,0}';
  WHEN 'mastodon' THEN
    epoch_us := 0; tick_us := 1000; bits := 64;
    time_bits := 48; time_shift := 16; worker_bits := 0; worker_shift := 0; sequence_bits := 16; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,sequence}'; field_bits := '{48,16}'; field_shifts := '{16,0}';
  WHEN 'sonyflake' THEN
    epoch_us := 1409529600000000; tick_us := 10000; bits := 63;
    time_bits := 39; time_shift := 24; worker_bits := 16; worker_shift := 0; sequence_bits := 8; sequence_shift := 16;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_10ms,sequence,machine}'; field_bits := '{39,8,16}'; field_shifts := '{24,16,0}';
  WHEN 'sonyflake2' THEN
    epoch_us := 1735689600000000; tick_us := 10000; bits := 63;
    time_bits := 39; time_shift := 24; worker_bits := 16; worker_shift := 0; sequence_bits := 8; sequence_shift := 16;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_10ms,sequence,machine}'; field_bits := '{39,8,16}'; field_shifts := '{24,16,0}';
  WHEN 'hazelcast' THEN
    epoch_us := 1514764800000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 16; worker_shift := 0; sequence_bits := 6; sequence_shift := 16;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,sequence,node}'; field_bits := '{41,6,16}'; field_shifts := '{22,16,0}';
  WHEN 'cosid' THEN
    epoch_us := 1577203200000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,machine,sequence}'; field_bits := '{41,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'cosid-s' THEN
    epoch_us := 1577203200000000; tick_us := 1000000; bits := 63;
    time_bits := 31; time_shift := 32; worker_bits := 10; worker_shift := 22; sequence_bits := 22; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_s,machine,sequence}'; field_bits := '{31,10,22}'; field_shifts := '{32,22,0}';
  WHEN 'cosid-53' THEN
    epoch_us := 1577203200000000; tick_us := 1000; bits := 53;
    time_bits := 41; time_shift := 12; worker_bits := 3; worker_shift := 9; sequence_bits := 9; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,machine,sequence}'; field_bits := '{41,3,9}'; field_shifts := '{12,9,0}';
  WHEN 'cosid-s-53' THEN
    epoch_us := 1577203200000000; tick_us := 1000000; bits := 53;
    time_bits := 31; time_shift := 22; worker_bits := 3; worker_shift := 19; sequence_bits := 19; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_s,machine,sequence}'; field_bits := '{31,3,19}'; field_shifts := '{22,19,0}';
  WHEN 'yitter' THEN
    epoch_us := 1582136402000000; tick_us := 1000; bits := 53;
    time_bits := 41; time_shift := 12; worker_bits := 6; worker_shift := 6; sequence_bits := 6; sequence_shift := 0;
    sequence_first := 5; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,worker,sequence}'; field_bits := '{41,6,6}'; field_shifts := '{12,6,0}';
  WHEN 'baidu' THEN
    epoch_us := 1463673600000000; tick_us := 1000000; bits := 63;
    time_bits := 28; time_shift := 35; worker_bits := 22; worker_shift := 13; sequence_bits := 13; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{delta_s,worker,sequence}'; field_bits := '{28,22,13}'; field_shifts := '{35,13,0}';
  WHEN 'gosnowflake' THEN
    epoch_us := 1474802888000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,worker,sequence}'; field_bits := '{41,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'tso' THEN
    epoch_us := 0; tick_us := 1000; bits := 64;
    time_bits := 46; time_shift := 18; worker_bits := 0; worker_shift := 0; sequence_bits := 18; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{physical_ms,logical}'; field_bits := '{46,18}'; field_shifts := '{18,0}';
  WHEN 'spaceflake' THEN
    epoch_us := 1420070400000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,node,worker,sequence}'; field_bits := '{41,5,5,12}'; field_shifts := '{22,17,12,0}';
  WHEN 'frostflake' THEN
    epoch_us := 0; tick_us := 1000000; bits := 64;
    time_bits := 32; time_shift := 32; worker_bits := 11; worker_shift := 0; sequence_bits := 21; sequence_shift := 11;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_s,sequence,generator}'; field_bits := '{32,21,11}'; field_shifts := '{32,11,0}';
  WHEN 'tsid' THEN
    epoch_us := 1577836800000000; tick_us := 1000; bits := 64;
    time_bits := 42; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 2048; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{time_ms,node,counter}'; field_bits := '{42,10,12}'; field_shifts := '{22,12,0}';
  WHEN 'scru64' THEN
    epoch_us := 0; tick_us := 256000; bits := 62;
    time_bits := 38; time_shift := 24; worker_bits := 8; worker_shift := 16; sequence_bits := 16; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 32768; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_256ms,node,counter}'; field_bits := '{38,8,16}'; field_shifts := '{24,16,0}';
  WHEN 'flake-idgen' THEN
    epoch_us := 0; tick_us := 1000; bits := 64;
    time_bits := 42; time_shift := 22; worker_bits := 10; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,datacenter,worker,counter}'; field_bits := '{42,5,5,12}'; field_shifts := '{22,17,12,0}';
  WHEN 'linkedin' THEN
    epoch_us := 0; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 0; worker_shift := 0; sequence_bits := 22; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 1; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,unknown}'; field_bits := '{41,22}'; field_shifts := '{22,0}';
  WHEN 'rollback2' THEN
    epoch_us := 1577836800000000; tick_us := 1000; bits := 63;
    time_bits := 41; time_shift := 22; worker_bits := 8; worker_shift := 12; sequence_bits := 12; sequence_shift := 0;
    sequence_first := 0; sequence_spread := 1; sequence_carry := 0; constant_mask := 0; constant_value := 0;
    field_names := '{timestamp_ms,rollback,worker,sequence}'; field_bits := '{41,2,8,12}'; field_shifts := '{22,20,12,0}';
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
    'twitter', 'discord', 'bwmarrin', 'leaf', 'instagram', 'mastodon', 'sonyflake', 'sonyflake2', 'hazelcast', 'cosid', 'cosid-s', 'cosid-53', 'cosid-s-53', 'yitter', 'baidu', 'gosnowflake', 'tso', 'spaceflake', 'frostflake', 'tsid', 'scru64', 'flake-idgen', 'linkedin', 'rollback2'
  -- end names
  ]) $$;

-- Snowflakes --------------------------------------------------------------------------------------------------------

-- The tick of a time, or 22008.
CREATE OR REPLACE FUNCTION @extschema@._snowflake_tick(preset text, ts timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
  us bigint := @extschema@._us(ts);
  last_tick bigint := (1::bigint << LEAST(l.time_bits, 63 - l.time_shift)) - 1;
BEGIN
  -- Compared before anything is added: the infinities are the ends of bigint.
  IF us < l.epoch_us - 946684800000000
     OR us::numeric >= l.epoch_us - 946684800000000 + (last_tick::numeric + 1) * l.tick_us THEN
    RAISE EXCEPTION 'timestamp % does not fit a snowflake of preset %: it has % bits for ticks of % us since %',
      ts, preset, LEAST(l.time_bits, 63 - l.time_shift), l.tick_us,
      @extschema@._at(l.epoch_us + 12219292800000000) USING ERRCODE = 'datetime_field_overflow';
  END IF;
  RETURN (us + 946684800000000 - l.epoch_us) / l.tick_us;
END $$;

-- From everything given: for a back-fill, where sequence is the row's number within its tick.
CREATE OR REPLACE FUNCTION @extschema@.form_snowflake(preset text, ts timestamptz, worker bigint, sequence bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
BEGIN
  IF worker < 0 OR worker >> l.worker_bits <> 0 THEN
    RAISE EXCEPTION 'worker % does not fit preset %: % bits, 0 to %', worker, preset, l.worker_bits,
      (1::bigint << l.worker_bits) - 1 USING ERRCODE = 'numeric_value_out_of_range';
  ELSIF sequence < 0 OR sequence >> l.sequence_bits <> 0 THEN
    RAISE EXCEPTION 'no id is left for number % of one tick: preset % has % bits for it, 0 to %', sequence, preset,
      l.sequence_bits, (1::bigint << l.sequence_bits) - 1 USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN (@extschema@._snowflake_tick(preset, ts) << l.time_shift) | (worker << l.worker_shift)
         | (sequence << l.sequence_shift) | l.constant_value;
END $$;

CREATE OR REPLACE FUNCTION @extschema@._check_sequence(sequence regclass) RETURNS void
LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_sequence WHERE seqrelid = sequence AND seqincrement = 1 AND NOT seqcycle
                 AND seqmax = 9223372036854775807) THEN
    RAISE EXCEPTION 'sequence % cannot serve snowflakes: it needs INCREMENT 1, NO CYCLE and the largest MAXVALUE', sequence
      USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'CREATE SEQUENCE without options makes such a one.';
  END IF;
END $$;

-- Takes `count` consecutive words from a sequence and answers the first. A word is (tick << sequence_bits | number
-- within the tick), so the sequence itself remembers the last tick: a full tick carries into the next one, a clock that
-- steps back is not followed, and two ids never share tick and number, whoever asks, rolled back or not.
--
-- The lock makes "read the clock, look, move forward" one step. It belongs to the session, not to the transaction, so
-- that nobody waits for a commit; the handler gives it back on every error, a cancel included.
CREATE OR REPLACE FUNCTION @extschema@._snowflake_take(sequence regclass, l record, count bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE AS $$
DECLARE
  key CONSTANT bigint := (1835626100::bigint << 32) | sequence::oid::bigint;
  given bigint;
  word bigint;
  tick bigint;
BEGIN
  PERFORM pg_advisory_lock(key);
  tick := (@extschema@._us(clock_timestamp()) + 946684800000000 - l.epoch_us) / l.tick_us;
  given := nextval(sequence);
  word := given;
  IF word >> l.sequence_bits < tick THEN
    PERFORM @extschema@._check_sequence(sequence);
    -- A tick begins where the preset says: at a fixed number, spread by a hash of the tick, or where the last one ended,
    -- going round at half of the field.
    word := (tick << l.sequence_bits) + l.sequence_first + ((tick * 40503) >> 4) % l.sequence_spread
            + l.sequence_carry * (given & ((1::bigint << (l.sequence_bits - 1)) - 1));
  ELSE
    word := word + GREATEST(0, l.sequence_first - (word & ((1::bigint << l.sequence_bits) - 1)));
  END IF;
  IF count > 1 OR word > given THEN
    -- Other sessions may hold numbers of theirs if the sequence has a cache: begin above them.
    word := GREATEST(word, pg_sequence_last_value(sequence) + 1);
    word := word + GREATEST(0, l.sequence_first - (word & ((1::bigint << l.sequence_bits) - 1)));
  END IF;
  IF ((word + count - 1) >> l.sequence_bits) - tick > 5000000 / l.tick_us THEN
    RAISE EXCEPTION 'sequence % is more than 5 s ahead of the clock', sequence
      USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Ids are made faster than the preset allows, or the clock was set back: wait until it has caught up.';
  ELSIF tick < 0 OR (word + count - 1) >> l.sequence_bits >= 1::bigint << LEAST(l.time_bits, 63 - l.time_shift) THEN
    RAISE EXCEPTION 'the time of now does not fit: % bits of ticks of % us', LEAST(l.time_bits, 63 - l.time_shift), l.tick_us
      USING ERRCODE = 'datetime_field_overflow';
  ELSIF word + count - 1 > given THEN
    PERFORM setval(sequence, word + count - 1);
  END IF;
  PERFORM pg_advisory_unlock(key);
  RETURN word;
EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
  PERFORM pg_advisory_unlock(key);
  RAISE;
END $$;

-- Now. Each worker has a sequence of its own, made by a plain CREATE SEQUENCE and used for nothing else.
CREATE OR REPLACE FUNCTION @extschema@.snowflake(preset text, worker bigint, sequence regclass) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
  word bigint;
BEGIN
  IF worker < 0 OR worker >> l.worker_bits <> 0 THEN
    RAISE EXCEPTION 'worker % does not fit preset %: % bits, 0 to %', worker, preset, l.worker_bits,
      (1::bigint << l.worker_bits) - 1 USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  word := @extschema@._snowflake_take(sequence, l, 1);
  RETURN ((word >> l.sequence_bits) << l.time_shift) | (worker << l.worker_shift) | l.constant_value
         | ((word & ((1::bigint << l.sequence_bits) - 1)) << l.sequence_shift);
END $$;

-- So many at once, rising: one lock and one look at the clock for all of them.
CREATE OR REPLACE FUNCTION @extschema@.snowflakes(preset text, worker bigint, sequence regclass, count integer) RETURNS SETOF bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
  word bigint;
BEGIN
  IF worker < 0 OR worker >> l.worker_bits <> 0 THEN
    RAISE EXCEPTION 'worker % does not fit preset %: % bits, 0 to %', worker, preset, l.worker_bits,
      (1::bigint << l.worker_bits) - 1 USING ERRCODE = 'numeric_value_out_of_range';
  ELSIF count < 0 OR count > 5000000 / l.tick_us << l.sequence_bits THEN
    RAISE EXCEPTION 'cannot make % ids at once: 0 to %, what the preset allows in 5 s', count,
      5000000 / l.tick_us << l.sequence_bits USING ERRCODE = 'numeric_value_out_of_range';
  ELSIF count = 0 THEN
    RETURN;
  END IF;
  IF l.sequence_first > 0 THEN
    -- Some numbers of every tick are not for us: no run of words is free of them.
    RETURN QUERY SELECT @extschema@.snowflake(preset, worker, sequence) FROM generate_series(1, count);
    RETURN;
  END IF;
  word := @extschema@._snowflake_take(sequence, l, count);
  RETURN QUERY SELECT ((w >> l.sequence_bits) << l.time_shift) | (worker << l.worker_shift) | l.constant_value
                      | ((w & ((1::bigint << l.sequence_bits) - 1)) << l.sequence_shift)
               FROM generate_series(word, word + count - 1) AS w;
END $$;

-- Instagram's sharded id: 41 bits of milliseconds since 2011, 13 of shard, 10 of sequence.
CREATE OR REPLACE FUNCTION @extschema@.instagram_id(shard bigint, sequence regclass) RETURNS bigint
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE AS
$$ SELECT @extschema@.snowflake('instagram', shard, sequence) $$;

-- Whether the bits of an id can be one of the preset.
CREATE OR REPLACE FUNCTION @extschema@._is_snowflake(l record, id bigint) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN (l.bits = 64 OR id >= 0 AND (l.bits = 63 OR id >> l.bits = 0)) AND id & l.constant_mask = l.constant_value; END $$;

CREATE OR REPLACE FUNCTION @extschema@._snowflake_us(l record, id bigint) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$ BEGIN RETURN l.epoch_us + ((id >> l.time_shift) & ((1::bigint << l.time_bits) - 1))::numeric * l.tick_us; END $$;

-- When an id was made, to the tick; NULL if it is no id of the preset.
CREATE OR REPLACE FUNCTION @extschema@.snowflake_timestamp(preset text, id bigint) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
BEGIN
  RETURN CASE WHEN @extschema@._is_snowflake(l, id)
              THEN @extschema@._at((@extschema@._snowflake_us(l, id) + 12219292800000000)::bigint) END;
END $$;

CREATE OR REPLACE FUNCTION @extschema@.snowflake_timestamp_strict(preset text, id bigint) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  answer timestamptz := @extschema@.snowflake_timestamp(preset, id);
BEGIN
  IF answer IS NULL THEN
    RAISE EXCEPTION '% is not a snowflake of preset %', id, preset USING ERRCODE = 'invalid_parameter_value',
      HINT = 'The function of the same name without _strict answers NULL instead.';
  END IF;
  RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION @extschema@.snowflake_worker(preset text, id bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
BEGIN
  RETURN CASE WHEN @extschema@._is_snowflake(l, id) THEN (id >> l.worker_shift) & ((1::bigint << l.worker_bits) - 1) END;
END $$;

CREATE OR REPLACE FUNCTION @extschema@.snowflake_sequence(preset text, id bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
BEGIN
  RETURN CASE WHEN @extschema@._is_snowflake(l, id) THEN (id >> l.sequence_shift) & ((1::bigint << l.sequence_bits) - 1) END;
END $$;

-- The smallest and the largest id of the tick of a time.
CREATE OR REPLACE FUNCTION @extschema@.snowflake_min(preset text, ts timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.form_snowflake(preset, ts, 0, 0) $$;

CREATE OR REPLACE FUNCTION @extschema@.snowflake_max(preset text, ts timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
BEGIN
  RETURN @extschema@.form_snowflake(preset, ts, (1::bigint << l.worker_bits) - 1, (1::bigint << l.sequence_bits) - 1);
END $$;

-- The smallest and the largest id that an event in [from_ts, to_ts) can have; NULLs if the range is empty.
CREATE OR REPLACE FUNCTION @extschema@.snowflake_range(preset text, from_ts timestamptz, to_ts timestamptz,
  OUT first_id bigint, OUT last_id bigint)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF from_ts < to_ts THEN
    first_id := @extschema@.snowflake_min(preset, from_ts);
    -- The microsecond before, through UTC: the session's TimeZone has no say.
    last_id := @extschema@.snowflake_max(preset, (to_ts AT TIME ZONE 'UTC' - interval '1 microsecond') AT TIME ZONE 'UTC');
  END IF;
END $$;

-- What is this id? --------------------------------------------------------------------------------------------------

-- RFC 3339 with so many digits after the second; `ticks` of 100 ns are what the microseconds leave out.
CREATE OR REPLACE FUNCTION @extschema@._rfc3339(ts timestamptz, digits integer, ticks integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  utc timestamp := ts AT TIME ZONE 'UTC';
  fraction text := to_char(utc, 'US') || ticks::text || '00';
BEGIN
  RETURN CASE WHEN utc >= '10000-01-01' THEN '+' ELSE '' END || lpad(extract(year FROM utc)::text, CASE WHEN utc >= '10000-01-01' THEN 5 ELSE 4 END, '0') || to_char(utc, '-MM-DD"T"HH24:MI:SS')
         || CASE WHEN digits > 0 THEN '.' || left(fraction, digits) ELSE '' END || 'Z';
END $$;

CREATE OR REPLACE FUNCTION @extschema@._reading_time(ts timestamptz, digits integer, ticks integer) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN jsonb_build_object('time', @extschema@._rfc3339(ts, digits, ticks),
    'unix_ns', (((@extschema@._us(ts) + 946684800000000)::numeric * 10 + ticks) * 100)::text);
END $$;

CREATE OR REPLACE FUNCTION @extschema@._read_uuid(id uuid, punctuated boolean, now_ts timestamptz) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  variant text := @extschema@.uuid_variant(id);
  version integer := @extschema@.uuid_version(id);
  hi bigint := @extschema@._hi(id);
  lo bigint := @extschema@._lo(id);
  confidence numeric := 0.5;
  why text := format('a uuid of the %s variant, which has no versions', variant);
  ts timestamptz;
  answer jsonb := jsonb_build_object('format', 'uuid', 'variant', variant);
  fields jsonb := '{}';
BEGIN
  IF id = @extschema@.uuid_nil() OR id = @extschema@.uuid_max() THEN
    confidence := 0.99;
    why := CASE WHEN hi = 0 THEN 'the nil uuid, RFC 9562 section 5.9' ELSE 'the max uuid, RFC 9562 section 5.10' END;
  ELSIF version NOT BETWEEN 1 AND 8 THEN
    why := format('the rfc9562 variant with version %s, which is not assigned', version);
  ELSIF version IS NOT NULL THEN
    confidence := 0.99;
    why := format('variant rfc9562 and version %s', version);
    IF version IN (1, 6) THEN
      ts := @extschema@.uuid_timestamp(id);
      answer := answer || @extschema@._reading_time(ts, 7, @extschema@.uuid_timestamp_100ns(id));
      fields := jsonb_build_object('ticks', @extschema@.uuid_ticks(id)::text, 'clock_seq', @extschema@.uuid_clock_seq(id),
                                   'node', @extschema@.uuid_node(id)::text);
    ELSIF version = 2 THEN
      -- The low 32 bits of the time give way to the local id: 2^32 ticks are 429 s.
      ts := @extschema@._at((@extschema@._v1_ticks(hi) & ~4294967295) / 10);
      answer := answer || @extschema@._reading_time(ts, 0, ((@extschema@._v1_ticks(hi) & ~4294967295) % 10)::integer);
      fields := jsonb_build_object('ticks', (@extschema@._v1_ticks(hi) & ~4294967295)::text,
                                   'local_id', (hi >> 32) & 4294967295, 'clock_seq', (lo >> 56) & 63,
                                   'domain', (lo >> 48) & 255, 'node', @extschema@.uuid_node(id)::text);
    ELSIF version = 7 THEN
      ts := @extschema@.uuid_v7_timestamp(id);
      answer := answer || @extschema@._reading_time(ts, 3, 0);
      fields := jsonb_build_object('unix_ts_ms', (hi >> 16) & 281474976710655, 'rand_a', hi & 4095,
                                   'rand_b', (lo & 4611686018427387903)::text);
    ELSIF version = 8 THEN
      fields := jsonb_build_object('custom_a', (hi >> 16) & 281474976710655, 'custom_b', hi & 4095,
                                   'custom_c', (lo & 4611686018427387903)::text);
    END IF;
    IF ts IS NULL THEN
      NULL;
    ELSIF @extschema@._us(ts) > @extschema@._us(now_ts) + 86400000000 THEN
      confidence := 0.9;
      why := why || ', but its time lies in the future';
    ELSIF @extschema@._us(ts) < -944092800000000 THEN
      confidence := 0.9;
      why := why || ', but its time lies before any uuid was made';
    ELSE
      why := why || ', and its time is plausible';
    END IF;
  END IF;
  IF NOT punctuated THEN
    confidence := confidence * 0.9;
    why := why || '; 32 hexadecimal digits can also be a hash';
  END IF;
  IF version IS NOT NULL THEN
    answer := answer || jsonb_build_object('version', version);
  END IF;
  RETURN answer || jsonb_build_object('confidence', trim_scale(round(confidence, 2)), 'why', why, 'fields', fields);
END $$;

-- A snowflake's fields by the preset's own names; NULL if the id is not of it.
CREATE OR REPLACE FUNCTION @extschema@.snowflake_fields(preset text, id bigint) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
  answer jsonb := '{}';
  value bigint;
BEGIN
  IF NOT @extschema@._is_snowflake(l, id) THEN
    RETURN NULL;
  END IF;
  FOR i IN 1 .. array_length(l.field_names, 1) LOOP
    value := (id >> l.field_shifts[i]) & ((1::bigint << l.field_bits[i]) - 1);
    answer := answer || jsonb_build_object(l.field_names[i],
      CASE WHEN l.field_bits[i] < 53 THEN to_jsonb(value) ELSE to_jsonb(value::text) END);
  END LOOP;
  RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION @extschema@._read_snowflake(preset text, place bigint, id bigint, now_ts timestamptz) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  l record := @extschema@._preset(preset);
  fields jsonb := @extschema@.snowflake_fields(preset, id);
  us numeric;
  future boolean;
  early boolean;
BEGIN
  IF fields IS NULL THEN
    RETURN NULL;
  END IF;
  us := @extschema@._snowflake_us(l, id);
  future := us > @extschema@._us(now_ts)::numeric + 946684800000000 + 86400000000;
  early := us - l.epoch_us < 2592000000000;
  RETURN jsonb_build_object('format', 'snowflake', 'preset', preset, 'fields', fields,
      -- Where the time says nothing, the better known preset comes first.
      'confidence', trim_scale(round(CASE WHEN future THEN 0.05 WHEN early THEN 0.2 ELSE 0.6 END * (1 - place / 50.0), 2)),
      'why', CASE WHEN future THEN 'its time lies in the future'
                  WHEN early THEN 'its time lies within a month of the layout''s epoch, as any small number'
                  ELSE 'its time lies between the layout''s epoch and now' END)
    || @extschema@._reading_time(@extschema@._at((us + 12219292800000000)::bigint),
         -- As many digits as write every multiple of a tick: 3 for 256 ms.
         CASE WHEN l.tick_us % 1000000 = 0 THEN 0 WHEN l.tick_us % 100000 = 0 THEN 1 WHEN l.tick_us % 10000 = 0 THEN 2
              WHEN l.tick_us % 1000 = 0 THEN 3 WHEN l.tick_us % 100 = 0 THEN 4 WHEN l.tick_us % 10 = 0 THEN 5 ELSE 6 END, 0);
END $$;

CREATE OR REPLACE FUNCTION @extschema@._read_ulid(ulid text, now_ts timestamptz) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  bits text := replace(@extschema@.ulid_to_uuid(ulid)::text, '-', '');
  ts timestamptz := @extschema@.ulid_timestamp(ulid);
  future boolean := @extschema@._us(ts) > @extschema@._us(now_ts) + 86400000000;
BEGIN
  RETURN jsonb_build_object('format', 'ulid',
      'confidence', CASE WHEN future THEN 0.3 ELSE 0.9 END,
      'why', CASE WHEN future THEN '26 digits of Crockford''s base32, but its time lies in the future'
                  ELSE '26 digits of Crockford''s base32, and its time is plausible' END,
      'fields', jsonb_build_object('unix_ts_ms', (@extschema@._us(ts) + 946684800000000) / 1000, 'randomness', right(bits, 20)))
    || @extschema@._reading_time(ts, 3, 0);
END $$;

-- Every way to read an id, the likeliest first, by the names of `mint inspect --json`. now_ts decides how plausible a
-- time is.
CREATE OR REPLACE FUNCTION @extschema@.decode_id(id text, now_ts timestamptz) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  trimmed text := btrim(id, E' \t\r\n');
  hyphenated CONSTANT text := '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
  readings jsonb[] := '{}';
  number numeric;
  preset text;
  place bigint;
BEGIN
  IF trimmed ~* ('^([0-9a-f]{32}|' || hyphenated || '|urn:uuid:' || hyphenated || '|\{' || hyphenated || '\})$') THEN
    readings := readings || @extschema@._read_uuid(right(btrim(trimmed, '{}'), CASE length(trimmed) WHEN 32 THEN 32 ELSE 36 END)::uuid,
                                                   length(trimmed) <> 32, now_ts);
  ELSIF trimmed ~* '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' THEN
    readings := readings || @extschema@._read_ulid(trimmed, now_ts);
  END IF;
  IF trimmed ~ '^(0|[1-9][0-9]{0,19})$' THEN
    number := trimmed::numeric;
    IF number < 18446744073709551616 THEN
      FOR preset, place IN SELECT p, at - 1 FROM @extschema@.snowflake_presets() WITH ORDINALITY AS t (p, at) LOOP
        readings := readings || @extschema@._read_snowflake(preset, place, @extschema@._signed(number), now_ts);
      END LOOP;
    END IF;
  END IF;
  RETURN jsonb_build_object('input', id, 'readings',
    (SELECT coalesce(jsonb_agg(r ORDER BY (r ->> 'confidence')::numeric DESC, at), '[]')
     FROM unnest(readings) WITH ORDINALITY AS u (r, at) WHERE r IS NOT NULL));
END $$;

CREATE OR REPLACE FUNCTION @extschema@.decode_id(id text) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.decode_id(id, now()) $$;

CREATE OR REPLACE FUNCTION @extschema@.decode_id(id uuid) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.decode_id(id::text, now()) $$;

CREATE OR REPLACE FUNCTION @extschema@.decode_id(id bigint) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE AS
$$ SELECT @extschema@.decode_id(id::text, now()) $$;

-- The version of this pack ------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION @extschema@.pack_version() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '1.1' $$;

-- Comments, from docs/sql-functions.md -------------------------------------------------------------------------------

COMMENT ON FUNCTION @extschema@.decode_id(id text, now_ts timestamptz) IS 'every way to read an id, likeliest first';
COMMENT ON FUNCTION @extschema@.decode_id(id text) IS 'the same, as of now()';
COMMENT ON FUNCTION @extschema@.decode_id(id uuid) IS 'the same, as of now()';
COMMENT ON FUNCTION @extschema@.decode_id(id bigint) IS 'the same, as of now()';
COMMENT ON FUNCTION @extschema@.form_snowflake(preset text, ts timestamptz, worker bigint, sequence bigint) IS 'from everything given';
COMMENT ON FUNCTION @extschema@.form_uuid_v1(ts timestamptz, clock_seq integer, mac macaddr) IS 'from everything given, exact';
COMMENT ON FUNCTION @extschema@.form_uuid_v1(ts timestamptz, clock_seq integer, mac macaddr, n bigint) IS 'row n of one microsecond';
COMMENT ON FUNCTION @extschema@.form_uuid_v1(ts timestamptz, clock_seq integer) IS 'random node with the multicast bit';
COMMENT ON FUNCTION @extschema@.form_uuid_v1(ts timestamptz) IS 'random clock sequence and node';
COMMENT ON FUNCTION @extschema@.form_uuid_v1_keyed(ts timestamptz, key text) IS 'repeatable: the other bits from the key''s SHA-256';
COMMENT ON FUNCTION @extschema@.form_uuid_v1_keyed(ts timestamptz, key text, n bigint) IS 'repeatable: row n of one microsecond, node or low bits from the key';
COMMENT ON FUNCTION @extschema@.form_uuid_v1_ticks(ticks bigint, clock_seq integer, mac macaddr) IS 'of ticks of 100 ns since 1582-10-15';
COMMENT ON FUNCTION @extschema@.form_uuid_v6(ts timestamptz, clock_seq integer, mac macaddr) IS 'from everything given, exact';
COMMENT ON FUNCTION @extschema@.form_uuid_v6(ts timestamptz, clock_seq integer, mac macaddr, n bigint) IS 'row n of one microsecond';
COMMENT ON FUNCTION @extschema@.form_uuid_v6(ts timestamptz, clock_seq integer) IS 'random node with the multicast bit';
COMMENT ON FUNCTION @extschema@.form_uuid_v6(ts timestamptz) IS 'random clock sequence and node';
COMMENT ON FUNCTION @extschema@.form_uuid_v6_keyed(ts timestamptz, key text) IS 'repeatable: the other bits from the key''s SHA-256';
COMMENT ON FUNCTION @extschema@.form_uuid_v6_keyed(ts timestamptz, key text, n bigint) IS 'repeatable: row n of one microsecond, node or low bits from the key';
COMMENT ON FUNCTION @extschema@.form_uuid_v6_ticks(ticks bigint, clock_seq integer, mac macaddr) IS 'of ticks of 100 ns since 1582-10-15';
COMMENT ON FUNCTION @extschema@.form_uuid_v7(ts timestamptz, n bigint) IS 'row n of one microsecond, 44 random bits';
COMMENT ON FUNCTION @extschema@.form_uuid_v7_fields(unix_ts_ms bigint, rand_a integer, rand_b bigint) IS 'of every field';
COMMENT ON FUNCTION @extschema@.form_uuid_v7_keyed(ts timestamptz, key text, n bigint) IS 'repeatable: row n of one microsecond, node or low bits from the key';
COMMENT ON FUNCTION @extschema@.form_uuid_v7_keyed(ts timestamptz, key text) IS 'repeatable: the other bits from the key''s SHA-256';
COMMENT ON FUNCTION @extschema@.id_from_base32(text text) IS 'strict: width, alphabet, range';
COMMENT ON FUNCTION @extschema@.id_from_base58(text text) IS 'strict: width, alphabet, range';
COMMENT ON FUNCTION @extschema@.id_from_base62(text text) IS 'strict: width, alphabet, range';
COMMENT ON FUNCTION @extschema@.id_to_base32(id bigint) IS 'fixed width';
COMMENT ON FUNCTION @extschema@.id_to_base58(id bigint) IS 'fixed width';
COMMENT ON FUNCTION @extschema@.id_to_base62(id bigint) IS 'fixed width';
COMMENT ON FUNCTION @extschema@.instagram_id(shard bigint, sequence regclass) IS 'snowflake(''instagram'', …)';
COMMENT ON FUNCTION @extschema@.ns_dns() IS 'the namespace';
COMMENT ON FUNCTION @extschema@.ns_oid() IS 'the namespace';
COMMENT ON FUNCTION @extschema@.ns_url() IS 'the namespace';
COMMENT ON FUNCTION @extschema@.ns_x500() IS 'the namespace';
COMMENT ON FUNCTION @extschema@.pack_version() IS 'of this pack';
COMMENT ON FUNCTION @extschema@.snowflake(preset text, worker bigint, sequence regclass) IS 'now';
COMMENT ON FUNCTION @extschema@.snowflake_fields(preset text, id bigint) IS 'every field by the preset''s own name';
COMMENT ON FUNCTION @extschema@.snowflake_max(preset text, ts timestamptz) IS 'largest id of that time';
COMMENT ON FUNCTION @extschema@.snowflake_min(preset text, ts timestamptz) IS 'smallest id of that time';
COMMENT ON FUNCTION @extschema@.snowflake_presets() IS 'their names';
COMMENT ON FUNCTION @extschema@.snowflake_range(preset text, from_ts timestamptz, to_ts timestamptz, OUT first_id bigint, OUT last_id bigint) IS 'smallest and largest id of [from_ts, to_ts); NULLs if empty';
COMMENT ON FUNCTION @extschema@.snowflake_sequence(preset text, id bigint) IS 'the field';
COMMENT ON FUNCTION @extschema@.snowflake_timestamp(preset text, id bigint) IS 'the time, NULL if it is no id of the preset';
COMMENT ON FUNCTION @extschema@.snowflake_timestamp_strict(preset text, id bigint) IS 'the time, NULL if it is no id of the preset; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.snowflake_worker(preset text, id bigint) IS 'the field';
COMMENT ON FUNCTION @extschema@.snowflakes(preset text, worker bigint, sequence regclass, count integer) IS 'so many now, rising';
COMMENT ON FUNCTION @extschema@.ulid(ts timestamptz) IS '80 random bits';
COMMENT ON FUNCTION @extschema@.ulid() IS '80 random bits';
COMMENT ON FUNCTION @extschema@.ulid_max(ts timestamptz) IS 'largest id of that time';
COMMENT ON FUNCTION @extschema@.ulid_min(ts timestamptz) IS 'smallest id of that time';
COMMENT ON FUNCTION @extschema@.ulid_range(from_ts timestamptz, to_ts timestamptz, OUT first_id text, OUT last_id text) IS 'smallest and largest id of [from_ts, to_ts); NULLs if empty';
COMMENT ON FUNCTION @extschema@.ulid_timestamp(ulid text) IS 'the time, in milliseconds';
COMMENT ON FUNCTION @extschema@.ulid_to_uuid(ulid text) IS 'the same 128 bits';
COMMENT ON FUNCTION @extschema@.uuid_clock_seq(id uuid) IS 'of version 1 or 6';
COMMENT ON FUNCTION @extschema@.uuid_clock_seq_strict(id uuid) IS 'of version 1 or 6; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_from_base32(text text) IS 'strict: width, alphabet, range';
COMMENT ON FUNCTION @extschema@.uuid_from_base58(text text) IS 'strict: width, alphabet, range';
COMMENT ON FUNCTION @extschema@.uuid_from_base62(text text) IS 'strict: width, alphabet, range';
COMMENT ON FUNCTION @extschema@.uuid_max() IS 'the constant';
COMMENT ON FUNCTION @extschema@.uuid_nil() IS 'the constant';
COMMENT ON FUNCTION @extschema@.uuid_node(id uuid) IS 'the node of version 1, 2 or 6';
COMMENT ON FUNCTION @extschema@.uuid_node_strict(id uuid) IS 'the node of version 1, 2 or 6; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_ticks(id uuid) IS 'ticks of 100 ns since 1582-10-15, versions 1 and 6';
COMMENT ON FUNCTION @extschema@.uuid_ticks_strict(id uuid) IS 'ticks of 100 ns since 1582-10-15, versions 1 and 6; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_timestamp(id uuid) IS 'the time of version 1, 6 or 7';
COMMENT ON FUNCTION @extschema@.uuid_timestamp_strict(id uuid) IS 'the time of version 1, 6 or 7; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_timestamp_100ns(id uuid) IS 'the 0 to 9 ticks that a timestamptz leaves out';
COMMENT ON FUNCTION @extschema@.uuid_timestamp_100ns_strict(id uuid) IS 'the 0 to 9 ticks that a timestamptz leaves out; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_to_base32(id uuid) IS 'fixed width';
COMMENT ON FUNCTION @extschema@.uuid_to_base58(id uuid) IS 'fixed width';
COMMENT ON FUNCTION @extschema@.uuid_to_base62(id uuid) IS 'fixed width';
COMMENT ON FUNCTION @extschema@.uuid_to_ulid(id uuid) IS 'fixed width';
COMMENT ON FUNCTION @extschema@.uuid_v1() IS 'now; random clock sequence and node';
COMMENT ON FUNCTION @extschema@.uuid_v1_max(ts timestamptz) IS 'largest id of that time';
COMMENT ON FUNCTION @extschema@.uuid_v1_min(ts timestamptz) IS 'smallest id of that time';
COMMENT ON FUNCTION @extschema@.uuid_v1_range(from_ts timestamptz, to_ts timestamptz, OUT first_id uuid, OUT last_id uuid) IS 'smallest and largest id of [from_ts, to_ts); NULLs if empty';
COMMENT ON FUNCTION @extschema@.uuid_v1_timestamp(id uuid) IS 'the time, NULL for other versions';
COMMENT ON FUNCTION @extschema@.uuid_v1_timestamp_strict(id uuid) IS 'the time, NULL for other versions; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_v1_to_v6(id uuid) IS 'the same bits in the other order';
COMMENT ON FUNCTION @extschema@.uuid_v1_to_v6_strict(id uuid) IS 'the same bits in the other order; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_v3(namespace uuid, name bytea) IS 'from a name; a text is taken as UTF-8';
COMMENT ON FUNCTION @extschema@.uuid_v3(namespace uuid, name text) IS 'from a name; a text is taken as UTF-8';
COMMENT ON FUNCTION @extschema@.uuid_v4() IS '122 random bits';
COMMENT ON FUNCTION @extschema@.uuid_v5(namespace uuid, name bytea) IS 'from a name; a text is taken as UTF-8';
COMMENT ON FUNCTION @extschema@.uuid_v5(namespace uuid, name text) IS 'from a name; a text is taken as UTF-8';
COMMENT ON FUNCTION @extschema@.uuid_v6() IS 'now; random clock sequence and node';
COMMENT ON FUNCTION @extschema@.uuid_v6_max(ts timestamptz) IS 'largest id of that time';
COMMENT ON FUNCTION @extschema@.uuid_v6_min(ts timestamptz) IS 'smallest id of that time';
COMMENT ON FUNCTION @extschema@.uuid_v6_range(from_ts timestamptz, to_ts timestamptz, OUT first_id uuid, OUT last_id uuid) IS 'smallest and largest id of [from_ts, to_ts); NULLs if empty';
COMMENT ON FUNCTION @extschema@.uuid_v6_timestamp(id uuid) IS 'the time, NULL for other versions';
COMMENT ON FUNCTION @extschema@.uuid_v6_timestamp_strict(id uuid) IS 'the time, NULL for other versions; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_v6_to_v1(id uuid) IS 'the same bits in the other order';
COMMENT ON FUNCTION @extschema@.uuid_v6_to_v1_strict(id uuid) IS 'the same bits in the other order; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_v7(ts timestamptz) IS 'at a time, to the millisecond, 74 random bits';
COMMENT ON FUNCTION @extschema@.uuid_v7() IS 'now, to the microsecond (PostgreSQL 18 and later: its own uuidv7())';
COMMENT ON FUNCTION @extschema@.uuid_v7_max(ts timestamptz) IS 'largest id of that time';
COMMENT ON FUNCTION @extschema@.uuid_v7_min(ts timestamptz) IS 'smallest id of that time';
COMMENT ON FUNCTION @extschema@.uuid_v7_range(from_ts timestamptz, to_ts timestamptz, OUT first_id uuid, OUT last_id uuid) IS 'smallest and largest id of [from_ts, to_ts); NULLs if empty';
COMMENT ON FUNCTION @extschema@.uuid_v7_shift(shift interval) IS 'now, moved';
COMMENT ON FUNCTION @extschema@.uuid_v7_submilli(ts timestamptz) IS 'at a time, to the microsecond, 62 random bits';
COMMENT ON FUNCTION @extschema@.uuid_v7_timestamp(id uuid) IS 'the time, NULL for other versions';
COMMENT ON FUNCTION @extschema@.uuid_v7_timestamp_strict(id uuid) IS 'the time, NULL for other versions; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_v7_timestamp_submilli(id uuid) IS 'to the microsecond, if made so';
COMMENT ON FUNCTION @extschema@.uuid_v7_timestamp_submilli_strict(id uuid) IS 'to the microsecond, if made so; an error where the plain one answers NULL';
COMMENT ON FUNCTION @extschema@.uuid_v8(custom bytea) IS '16 bytes of your own';
COMMENT ON FUNCTION @extschema@.uuid_v8(custom_a bigint, custom_b integer, custom_c bigint) IS 'of every field';
COMMENT ON FUNCTION @extschema@.uuid_v8_sha256(namespace uuid, name bytea) IS 'from a name, RFC 9562 B.2';
COMMENT ON FUNCTION @extschema@.uuid_v8_sha256(namespace uuid, name text) IS 'from a name, RFC 9562 B.2';
COMMENT ON FUNCTION @extschema@.uuid_variant(id uuid) IS 'rfc9562, ncs, microsoft, future';
COMMENT ON FUNCTION @extschema@.uuid_version(id uuid) IS 'NULL for other variants';
COMMENT ON FUNCTION @extschema@.uuid_version_strict(id uuid) IS 'NULL for other variants; an error where the plain one answers NULL';
