CREATE TABLE IF NOT EXISTS mint_meta (
    one            smallint NOT NULL PRIMARY KEY CHECK (one = 1),
    schema_version bigint NOT NULL,
    cluster_id     char(32) NOT NULL,
    incarnation    varchar(200) NOT NULL,
    class          char(1) NOT NULL,
    made_at        datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS mint_register (
    `key`      varchar(300) NOT NULL PRIMARY KEY,
    version    bigint NOT NULL CHECK (version > 0),
    mark       bigint NOT NULL CHECK (mark >= 0),
    token      char(32) NOT NULL,
    body       text NOT NULL,
    written_at datetime(6) NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
