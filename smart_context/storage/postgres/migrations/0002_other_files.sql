-- Files of a memory folder that were copied and that nobody here reads, such as damaged ones.

CREATE TABLE other_file (
    path text COLLATE "C" PRIMARY KEY,
    written_ns bigint NOT NULL,
    content bytea NOT NULL
);
