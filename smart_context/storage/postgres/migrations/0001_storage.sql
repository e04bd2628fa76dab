-- All that a vault keeps. Texts that may hold what UTF-8 or PostgreSQL can't (lone surrogates, NUL)
-- are kept as JSON, which escapes them, or as bytes.

CREATE SEQUENCE revision;

-- A chat, or what stands beside one that has no document yet (revision IS NULL). What is deleted
-- stays where it is and gets a name under `deletion`.
CREATE TABLE chat (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    deletion text COLLATE "C" NOT NULL DEFAULT '',
    deleted_at text COLLATE "C" NOT NULL DEFAULT '',
    person text COLLATE "C" NOT NULL DEFAULT 'owner', -- whose it is, as its document says
    shared boolean NOT NULL DEFAULT false,
    revision bigint,
    reordered bigint NOT NULL DEFAULT 0,  -- the last revision that removed or moved messages
    place integer NOT NULL DEFAULT 0,     -- the number of other values before the messages
    written_ns bigint NOT NULL DEFAULT 0, -- since 1970
    title text NOT NULL DEFAULT '',
    message_count integer NOT NULL DEFAULT 0,
    updated_at text COLLATE "C" NOT NULL DEFAULT '',
    preview text NOT NULL DEFAULT '',
    client text NOT NULL DEFAULT '',
    topics text NOT NULL DEFAULT '[]',
    folder text NOT NULL DEFAULT '',      -- in the list of chats
    pinned boolean NOT NULL DEFAULT false,
    archived boolean NOT NULL DEFAULT false,
    title_words text NOT NULL DEFAULT '', -- of a title that was given
    UNIQUE (id, deletion)
);
CREATE INDEX chat_newest ON chat (person, updated_at DESC, written_ns DESC, id DESC)
    WHERE deletion = '' AND revision IS NOT NULL;
CREATE INDEX chat_deleted ON chat (person, deleted_at DESC) WHERE deletion <> '';

-- The conditions on what a person may see: the one place that has them.
CREATE FUNCTION may_use(c chat, asking text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE RETURN (c).person = asking OR (c).shared;
CREATE FUNCTION owns(c chat, asking text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE RETURN (c).person = asking;

CREATE TABLE message (
    chat bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    position bigint NOT NULL,             -- with gaps, so that one more moves no others
    revision bigint NOT NULL,
    line text NOT NULL,                   -- JSON, as it was written
    words text NOT NULL,                  -- as they are compared in a search
    PRIMARY KEY (chat, position)
);
CREATE INDEX message_changed ON message (chat, revision);

CREATE TABLE chat_value (
    chat bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,       -- JSON
    ordinal integer NOT NULL,
    revision bigint NOT NULL,
    value text NOT NULL,                  -- JSON, as it was written
    PRIMARY KEY (chat, name)
);

CREATE TABLE document (
    chat bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (chat, name)
);

CREATE TABLE vault_document (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,       -- of the key, as a file would have it
    revision bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (kind, name)
);

CREATE TABLE log (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat bigint REFERENCES chat ON DELETE CASCADE,
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    added bigint NOT NULL DEFAULT 0,
    UNIQUE NULLS NOT DISTINCT (chat, kind, name)
);
CREATE TABLE log_line (
    log bigint NOT NULL REFERENCES log ON DELETE CASCADE,
    number bigint NOT NULL,
    line bytea NOT NULL,
    PRIMARY KEY (log, number)
);

CREATE TABLE vectors (
    chat bigint PRIMARY KEY REFERENCES chat ON DELETE CASCADE,
    model text NOT NULL,
    width integer NOT NULL
);
CREATE TABLE vector_row (
    chat bigint NOT NULL REFERENCES vectors ON DELETE CASCADE,
    number bigint GENERATED ALWAYS AS IDENTITY,
    key bytea NOT NULL,
    is_addition boolean NOT NULL,
    value bytea NOT NULL,                 -- little-endian float32
    PRIMARY KEY (chat, number)
);

CREATE TABLE blob (
    key text COLLATE "C" PRIMARY KEY,
    about bytea NOT NULL,
    content bytea NOT NULL,
    text bytea,
    used_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- An answer that is being written: its journal, and the process that holds it until then.
CREATE TABLE answer (
    chat bigint PRIMARY KEY REFERENCES chat ON DELETE CASCADE,
    journal bytea NOT NULL DEFAULT '',
    writer text,
    held_until timestamptz
);

-- Leases are by the database's clock, and end 20 s after their holder has renewed them for the last
-- time; after a restart of the database, it has time to do so.
CREATE FUNCTION lease_end() RETURNS timestamptz
    LANGUAGE sql VOLATILE RETURN clock_timestamp() + interval '20 s';
CREATE FUNCTION is_over(lease timestamptz) RETURNS boolean
    LANGUAGE sql VOLATILE RETURN lease < clock_timestamp()
        AND pg_postmaster_start_time() < clock_timestamp() - interval '20 s';
