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

DROP FUNCTION IF EXISTS mintage_snowflake //
CREATE FUNCTION mintage_snowflake(preset VARCHAR(64) CHARACTER SET ascii, worker BIGINT) RETURNS BIGINT
NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE l TEXT CHARACTER SET ascii;
  DECLARE bits INT;
  DECLARE tick BIGINT;
  DECLARE begin_at BIGINT;
  DECLARE first BIGINT;
  DECLARE carry BIGINT;
  DECLARE given BIGINT;
  IF preset IS NULL OR worker IS NULL THEN
    RETURN NULL;
  END IF;
  SET l = mintage__layout(preset);
  SET bits = mintage__part(l, 'sequence_bits');
  SET first = mintage__part(l, 'sequence_first');
  SET carry = mintage__part(l, 'sequence_carry');
  SET tick = mintage__tick(l, mintage__now());
  IF mintage__snowflake(preset, tick, worker, 0) IS NOT NULL THEN
    -- The worker and the time fit: only now is there a row to make.
    -- A tick begins where the preset says: at a fixed number, spread by a hash of the tick, or where the last one ended,
    -- going round at half of the field.
    SET begin_at = (tick << bits) + mintage__part(l, 'sequence_first') + ((tick * 40503) >> 4) % mintage__part(l, 'sequence_spread');
    UPDATE mintage_snowflake_state AS s
    SET s.word = LAST_INSERT_ID(IF((s.word + 1) >> bits < tick, begin_at + carry * ((s.word + 1) & ((1 << (bits - 1)) - 1)),
                                   s.word + 1 + IF((s.word + 1) & ((1 << bits) - 1) < first, first, 0)))
    WHERE s.preset = preset AND s.worker = worker;
    IF ROW_COUNT() = 0 THEN
      INSERT INTO mintage_snowflake_state VALUES (preset, worker, LAST_INSERT_ID(begin_at));
    END IF;
  END IF;
  SET given = LAST_INSERT_ID();
  IF CAST(given >> bits AS SIGNED) - tick > 5000000 DIV mintage__part(l, 'tick_us') THEN
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'the last id is more than 5 s ahead of the clock: wait until it has caught up';
  END IF;
  RETURN mintage__snowflake(preset, given >> bits, worker, given & ((1 << bits) - 1));
END //

DROP FUNCTION IF EXISTS mintage_instagram_id //
CREATE FUNCTION mintage_instagram_id(shard BIGINT) RETURNS BIGINT
NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
RETURN mintage_snowflake('instagram', shard) //

DELIMITER ;
SET sql_mode = @mintage_old_sql_mode;
