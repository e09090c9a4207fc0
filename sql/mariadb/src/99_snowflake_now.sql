-- Snowflakes of now -------------------------------------------------------------------------------------------------
--
-- Last, because they write to a table: where the binary log is on, the server takes such functions only while
-- log_bin_trust_function_creators = 1. Everything above is installed even if it refuses here.

-- Now. A row for each worker holds the last word given, (tick << sequence_bits | number within the tick). It only ever
-- rises: a full tick carries into the next one, and a clock that steps back is not followed. The table's engine has no
-- transactions on purpose: what was given stays given when the caller rolls back, and nobody waits for a commit.
-- (A sequence cannot serve here: MariaDB's SETVAL takes no expression, and MySQL has none.)
CREATE TABLE IF NOT EXISTS mintage_snowflake_state (
  preset VARCHAR(64) CHARACTER SET ascii NOT NULL,
  worker BIGINT NOT NULL,
  word BIGINT NOT NULL,
  PRIMARY KEY (preset, worker)
) /*!80000 ENGINE=MyISAM */ /*M!100600 ENGINE=Aria TRANSACTIONAL=1 */ //

-- Its numbers are read once and straight from the JSON: every call of a stored function costs some microseconds.
DROP FUNCTION IF EXISTS mintage_snowflake //
CREATE FUNCTION mintage_snowflake(preset VARCHAR(64) CHARACTER SET ascii, worker BIGINT) RETURNS BIGINT
NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE l TEXT CHARACTER SET ascii;
  DECLARE bits, tick_us, first, carry, tick, begin_at, given BIGINT;
  IF preset IS NULL OR worker IS NULL THEN
    RETURN NULL;
  END IF;
  SET l = mintage__layout(preset);
  SET bits = JSON_EXTRACT(l, '$.sequence_bits');
  SET tick_us = JSON_EXTRACT(l, '$.tick_us');
  SET first = JSON_EXTRACT(l, '$.sequence_first');
  SET carry = JSON_EXTRACT(l, '$.sequence_carry');
  SET tick = (TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))
              + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - JSON_EXTRACT(l, '$.epoch_us')) DIV tick_us;
  IF worker < 0 OR worker >> JSON_EXTRACT(l, '$.worker_bits') <> 0
     OR tick < 0 OR tick >> LEAST(JSON_EXTRACT(l, '$.time_bits'), 63 - JSON_EXTRACT(l, '$.time_shift')) <> 0 THEN
    -- Refuses in words, and before there is a row.
    RETURN mintage__snowflake(preset, tick, worker, 0);
  END IF;
  -- A tick begins where the preset says: at a fixed number, spread by a hash of the tick, or where the last one ended,
  -- going round at half of the field.
  SET begin_at = (tick << bits) + first + ((tick * 40503) >> 4) % JSON_EXTRACT(l, '$.sequence_spread');
  UPDATE mintage_snowflake_state AS s
  SET s.word = LAST_INSERT_ID(IF((s.word + 1) >> bits < tick, begin_at + carry * ((s.word + 1) & ((1 << (bits - 1)) - 1)),
                                 s.word + 1 + IF((s.word + 1) & ((1 << bits) - 1) < first, first, 0)))
  WHERE s.preset = preset AND s.worker = worker;
  IF ROW_COUNT() = 0 THEN
    INSERT INTO mintage_snowflake_state VALUES (preset, worker, LAST_INSERT_ID(begin_at));
  END IF;
  SET given = LAST_INSERT_ID();
  IF CAST(given >> bits AS SIGNED) - tick > 5000000 DIV tick_us THEN
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'the last id is more than 5 s ahead of the clock: wait until it has caught up';
  END IF;
  RETURN CAST(((given >> bits) << JSON_EXTRACT(l, '$.time_shift')) | (worker << JSON_EXTRACT(l, '$.worker_shift'))
              | ((given & ((1 << bits) - 1)) << JSON_EXTRACT(l, '$.sequence_shift')) | JSON_EXTRACT(l, '$.constant_value') AS SIGNED);
END //

DROP FUNCTION IF EXISTS mintage_instagram_id //
CREATE FUNCTION mintage_instagram_id(shard BIGINT) RETURNS BIGINT
NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
RETURN mintage_snowflake('instagram', shard) //

DELIMITER ;
SET sql_mode = @mintage_old_sql_mode;
