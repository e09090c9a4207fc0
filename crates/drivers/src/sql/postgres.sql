CREATE TABLE IF NOT EXISTS mint_meta (
    one            smallint PRIMARY KEY CHECK (one = 1),
    schema_version bigint NOT NULL,
    cluster_id     char(32) NOT NULL,
    incarnation    text NOT NULL,
    class          char(1) NOT NULL,
    made_at        timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS mint_register (
    key        varchar(300) COLLATE "C" PRIMARY KEY,
    version    bigint NOT NULL CHECK (version > 0),
    mark       bigint NOT NULL CHECK (mark >= 0),
    token      char(32) NOT NULL,
    body       text NOT NULL,
    written_at timestamptz NOT NULL
) WITH (fillfactor = 50);
