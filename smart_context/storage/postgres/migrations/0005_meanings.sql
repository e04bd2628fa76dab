-- The vectors of a chat that are not in the search by meaning, such as those stored without pgvector.
ALTER TABLE vectors ADD COLUMN lacks_meanings boolean NOT NULL DEFAULT true;
CREATE INDEX vectors_lacking ON vectors (chat) WHERE lacks_meanings;

-- Shared chats are in everybody's list, and few.
CREATE INDEX chat_shared ON chat (number) WHERE shared AND deletion = '';
