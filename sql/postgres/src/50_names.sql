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
