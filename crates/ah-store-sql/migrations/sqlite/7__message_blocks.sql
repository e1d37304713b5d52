-- Where a party's mail lies.
--
-- Every message once had an entry in an index of its sender and one in an index of its recipient. With
-- many agents each entry fell on another page, and these pages were most of what a message cost. Now
-- messages lie in blocks of 1,024 numbers, and a party has one entry for each block that holds
-- something it wrote or got: a list goes from block to block and looks through those.

CREATE TABLE message_blocks (
  party TEXT NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (party, block)
) WITHOUT ROWID;

INSERT OR IGNORE INTO message_blocks SELECT lower(sender), number >> 10 FROM messages;
INSERT OR IGNORE INTO message_blocks SELECT lower(recipient), number >> 10 FROM messages;

CREATE TRIGGER messages_into_block AFTER INSERT ON messages BEGIN
  INSERT OR IGNORE INTO message_blocks
    VALUES (lower(new.sender), new.number >> 10), (lower(new.recipient), new.number >> 10);
END;

-- The last message of a block takes the block with it.
CREATE TRIGGER messages_out_of_block AFTER DELETE ON messages
  WHEN NOT EXISTS (SELECT 1 FROM messages
    WHERE number BETWEEN (old.number >> 10) << 10 AND ((old.number >> 10) << 10) + 1023)
BEGIN
  DELETE FROM message_blocks WHERE block = old.number >> 10;
END;

DROP INDEX messages_to;
DROP INDEX messages_from;
