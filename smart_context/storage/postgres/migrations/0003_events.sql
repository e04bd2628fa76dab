-- Messages between processes, and work that one of them at a time may do.

-- Names this vault wherever several share something, such as a Redis.
CREATE TABLE vault_identity (id uuid NOT NULL DEFAULT gen_random_uuid());
INSERT INTO vault_identity DEFAULT VALUES;

-- What was told lately. Nothing depends on it after a crash of the database.
CREATE UNLOGGED TABLE event (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node text NOT NULL,
    told_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    body text NOT NULL
);
CREATE INDEX event_age ON event (told_at);

-- Tell others. A lock keeps the order of numbers that of the commits: whoever has read up to a
-- number has missed nothing below it.
CREATE FUNCTION tell(node text, body text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    told bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(x'536374656c6c'::bigint);
    INSERT INTO event (node, body) VALUES (node, body) RETURNING number INTO told;
    PERFORM pg_notify('smart_context_events', told::text);
END $$;

CREATE TABLE lease (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    held_until timestamptz NOT NULL
);
