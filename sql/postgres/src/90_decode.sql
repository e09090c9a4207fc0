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
    ELSIF @extschema@._us(ts) < -470707200000000 THEN
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
  -- Since when there are ids of presets whose epoch is older than they, as the library's table says.
  since_us bigint := greatest(l.epoch_us, CASE preset
    WHEN 'mastodon' THEN 1456790400000000
    WHEN 'tso' THEN 1441065600000000
    WHEN 'frostflake' THEN 1577836800000000
    WHEN 'scru64' THEN 1672531200000000
    WHEN 'flake-idgen' THEN 1388534400000000
    WHEN 'linkedin' THEN 1325376000000000
    ELSE l.epoch_us END);
  future boolean;
  early boolean;
BEGIN
  IF fields IS NULL THEN
    RETURN NULL;
  END IF;
  us := @extschema@._snowflake_us(l, id);
  future := us > @extschema@._us(now_ts)::numeric + 946684800000000 + 86400000000;
  early := us - since_us < 2592000000000;
  RETURN jsonb_build_object('format', 'snowflake', 'preset', preset, 'fields', fields,
      -- Where the time says nothing, the better known preset comes first.
      'confidence', trim_scale(round(CASE WHEN future THEN 0.05 WHEN early AND since_us > l.epoch_us THEN 0.04
        WHEN early THEN 0.09 ELSE 0.6 END * (1 - place / 50.0), 4)),
      'why', CASE WHEN future THEN 'its time lies in the future'
                  WHEN early AND since_us > l.epoch_us THEN 'its time lies before there were any'
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
