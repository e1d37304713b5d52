-- Who knows that both parties of a message have their entries of its block says so.
--
-- The trigger looked for two entries with every message, and nearly always found them. A program that
-- sets `in_blocks` saves it that; from all others the trigger does as before.

ALTER TABLE messages ADD COLUMN in_blocks INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER messages_into_block;
CREATE TRIGGER messages_into_block AFTER INSERT ON messages WHEN new.in_blocks = 0 BEGIN
  INSERT OR IGNORE INTO message_blocks
    VALUES (lower(new.sender), new.number >> 10), (lower(new.recipient), new.number >> 10);
END;

-- The last message of a block takes the block with it, but for the block that new ones come to: who
-- knows its entries must not lose them.
DROP TRIGGER messages_out_of_block;
CREATE TRIGGER messages_out_of_block AFTER DELETE ON messages
  WHEN old.number >> 10 < (SELECT seq >> 10 FROM sqlite_sequence WHERE name = 'messages')
  AND NOT EXISTS (SELECT 1 FROM messages
    WHERE number BETWEEN (old.number >> 10) << 10 AND ((old.number >> 10) << 10) + 1023)
BEGIN
  DELETE FROM message_blocks WHERE block = old.number >> 10;
END;
