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
