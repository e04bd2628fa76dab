-- What all servers of a team share besides chats: browsers' sessions, and digests of clients' keys.

CREATE TABLE record (
    name text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL,
    content bytea NOT NULL
);
