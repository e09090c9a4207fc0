//! What the stock clients of the faces `postgres` and `mysql` need: only the deep tests drive them.

use std::path::PathBuf;

use crate::provision::{self, Tool};

/// Debian's packages of drivers, in seven languages.
pub(crate) const TOOLS: &[Tool] = &[
    // mysqlclient and mariadb of PyPI are compiled.
    ("mariadb_config", &["--version"], "libmariadb-dev"),
    (
        "python3",
        &[
            "-c",
            "import os, sysconfig; open(os.path.join(sysconfig.get_path('include'), 'Python.h'))",
        ],
        "python3-dev",
    ),
    // diesel links it.
    (
        "sh",
        &["-c", "test -f /usr/include/postgresql/libpq-fe.h"],
        "libpq-dev",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/postgresql.jar"],
        "libpostgresql-jdbc-java",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/scram-client.jar"],
        "libscram-java",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/mariadb-java-client.jar"],
        "libmariadb-java",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/HikariCP.jar"],
        "libhikaricp-java",
    ),
    ("go", &["version"], "golang-go"),
    (
        "sh",
        &["-c", "test -d /usr/share/gocode/src/github.com/lib/pq"],
        "golang-github-lib-pq-dev",
    ),
    (
        "sh",
        &["-c", "test -d /usr/share/gocode/src/github.com/jackc/pgx/v4"],
        "golang-github-jackc-pgx-v4-dev",
    ),
    (
        "sh",
        &[
            "-c",
            "test -d /usr/share/gocode/src/github.com/go-sql-driver/mysql",
        ],
        "golang-github-go-sql-driver-mysql-dev",
    ),
    (
        "php",
        &["-r", "exit(extension_loaded('pdo_pgsql') ? 0 : 1);"],
        "php-pgsql",
    ),
    (
        "php",
        &["-r", "exit(extension_loaded('pdo_mysql') ? 0 : 1);"],
        "php-mysql",
    ),
    ("ruby", &["-e", "require 'pg'"], "ruby-pg"),
    ("ruby", &["-e", "require 'mysql2'"], "ruby-mysql2"),
    ("ruby", &["-e", "require 'active_record'"], "ruby-activerecord"),
    ("perl", &["-MDBD::Pg", "-e", "1"], "libdbd-pg-perl"),
    ("perl", &["-MDBD::MariaDB", "-e", "1"], "libdbd-mariadb-perl"),
    ("isql", &["--version"], "unixodbc"),
    (
        "sh",
        &["-c", "test -f /usr/lib/*/odbc/psqlodbcw.so"],
        "odbc-postgresql",
    ),
    (
        "sh",
        &["-c", "test -f /usr/lib/*/odbc/libmaodbc.so"],
        "odbc-mariadb",
    ),
];

const PYTHON_PACKAGES: &[&str] = &[
    "psycopg2-binary==2.9.13",
    "psycopg[binary,pool]==3.3.9",
    "asyncpg==0.32.0",
    "pg8000==1.31.6",
    "SQLAlchemy==2.1.9",
    "greenlet==3.5.6",
    "Django==5.2.19",
    "PyMySQL==1.2.4",
    "mysqlclient==2.3.1",
    "mariadb==1.1.14",
    "mysql-connector-python==26.10.0",
    "aiomysql==0.3.2",
    "asyncmy==0.2.18",
];

/// A program that ends well where Python finds them all.
const PYTHON_PROBE: &str = "import psycopg2, psycopg, psycopg_pool, asyncpg, pg8000, sqlalchemy, greenlet, django, \
                            pymysql, MySQLdb, mariadb, mysql.connector, aiomysql, asyncmy";

/// A venv with the drivers in Python; `None` where it cannot be made.
pub(crate) fn python() -> Option<PathBuf> {
    provision::venv("sql-venv", PYTHON_PROBE, PYTHON_PACKAGES)
}

/// Whether tests whose path holds one of these filters drive them.
pub(crate) fn wanted_by(filters: &[String]) -> bool {
    let names_a_face = |filter: &String| filter.contains("face_postgres") || filter.contains("face_mysql");
    filters.iter().any(names_a_face)
}
