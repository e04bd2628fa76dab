-- The vectors as pgvector compares them. Drop the table to have it made again from vector_row.

CREATE TABLE meaning (
    chat bigint NOT NULL,
    number bigint NOT NULL,
    value halfvec NOT NULL,               -- of unit length, or zero
    PRIMARY KEY (chat, number),
    FOREIGN KEY (chat, number) REFERENCES vector_row ON DELETE CASCADE
);
UPDATE vectors SET lacks_meanings = true WHERE NOT lacks_meanings;
