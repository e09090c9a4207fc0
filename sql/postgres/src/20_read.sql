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
