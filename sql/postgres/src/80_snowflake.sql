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
  ELSE
    -- nextval logs one number of 32, and a transaction that logged nothing does not wait for the log of those that did: an
    -- id that nobody stores in this database would come again after a crash, if the sequence is ahead of the clock. setval
    -- logs always.
    PERFORM pg_logical_emit_message(true, 'mintage', '');
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
