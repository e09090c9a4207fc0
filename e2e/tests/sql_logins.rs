//! Stock clients of SQL log in by tokens, by SCRAM-SHA-256 and `caching_sha2_password`, in clear on this machine and over TLS;
//! who has a wrong token, or none, does not.
//!
//! Covers: crates/faces/src/postgres, crates/faces/src/mysql, crates/faces/src/sql
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::need;
use mintage_e2e::run::{self, Said};
use mintage_e2e::sqlwire::clients::{self, Client};
use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::numbers::Numbers;
use mintage_e2e::sqlwire::place::Place;

/// A server with tokens: `app` may take numbers.
struct Guarded {
    faces: Faces,
    place: Place,
    folder: tempfile::TempDir,
}

const CERTIFICATES: &str = "[server.tls]\ncert = \"server.pem\"\nkey = \"server.key\"\n";

impl Guarded {
    /// In clear.
    fn in_clear(face: &str) -> Guarded {
        Guarded::start(face, "", "")
    }

    /// By TLS alone, with a certificate of a private authority.
    fn by_tls(face: &str) -> Guarded {
        Guarded::start(face, "tls:", CERTIFICATES)
    }

    /// In clear, and by TLS for those that ask for it.
    fn by_both(face: &str) -> Guarded {
        Guarded::start(face, "", CERTIFICATES)
    }

    fn start(face: &str, transport: &str, settings: &str) -> Guarded {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        run::mint(at, "cert new --ca --server localhost,127.0.0.1".split(' ')).ok();
        // Before anybody needs a token.
        drop(Faces::with_sequences(at, face, &["orders", "tickets"]));
        let token = run::new_token(at, "app --may allocate --sql");
        let settings = format!("[auth]\ntoken_file = \"tokens.toml\"\n{settings}");
        std::fs::write(at.join("mint.toml"), settings).unwrap();
        let faces = Faces::by(at, transport, &[face], &[]);
        let place = Place {
            at: faces.place(face).at,
            user: "app".into(),
            password: token,
        };
        Guarded { faces, place, folder }
    }

    fn authority(&self) -> String {
        self.folder.path().join("ca.pem").display().to_string()
    }

    /// Each client has its numbers, and none twice.
    #[track_caller]
    fn serves(&self, clients: impl IntoIterator<Item = Client>) {
        let mut numbers = Numbers::default();
        for client in clients {
            let said = client.run(&self.place);
            assert_eq!(
                said.code,
                0,
                "{client:?}: {}\n{}",
                said.err,
                self.faces.server().log()
            );
            let taken = numbers.add(&said.out);
            assert!(taken.is_ok(), "{client:?}: {taken:?}");
        }
    }
}

/// All that are there.
fn together(clients: impl IntoIterator<Item = Option<Vec<Client>>>) -> Vec<Client> {
    clients.into_iter().flatten().flatten().collect()
}

fn with(clients: Vec<Client>, environment: &[(&'static str, &str)]) -> Vec<Client> {
    let with_all = |client: Client| {
        let add = |client: Client, (name, value): &(&'static str, &str)| client.with(name, value);
        environment.iter().fold(client, add)
    };
    clients.into_iter().map(with_all).collect()
}

#[test]
#[ignore = "minutes: many clients"]
fn clients_of_postgresql_log_in_by_scram() {
    let server = Guarded::in_clear("postgres");
    server.serves(together([
        clients::python(&[
            "psycopg2_client.py",
            "psycopg_client.py",
            "asyncpg_client.py",
            "pg8000_client.py",
        ]),
        clients::node(&[("pg_client.cjs", "pg"), ("postgres_client.cjs", "postgres")]),
        clients::java("JdbcPostgres.java"),
        clients::go("postgres.go"),
        clients::php("postgres.php"),
        clients::ruby(&["rails_postgres.rb"]),
        clients::perl("postgres.pl"),
        clients::odbc("odbc_postgres.sh"),
    ]));
}

#[test]
#[ignore = "minutes: many clients"]
fn clients_of_mysql_log_in_by_caching_sha2_password() {
    let server = Guarded::in_clear("mysql");
    server.serves(together([
        clients::python(&[
            "pymysql_client.py",
            "mariadb_client.py",
            "mysql_connector_client.py",
            "aio_mysql.py",
        ]),
        clients::go("mysql.go"),
        clients::php("mysql.php"),
        clients::ruby(&["mysql.rb", "rails_mysql.rb"]),
        clients::perl("mysql.pl"),
        clients::odbc("odbc_mysql.sh"),
    ]));
}

/// They name `mysql_native_password` whatever the server has said, at their login or when they change their user, and go
/// over to what the server then asks for. npm's mysql is the one that cannot.
#[test]
#[ignore = "minutes: many clients"]
fn clients_of_mysql_that_name_the_old_way_are_asked_for_the_new_one() {
    let server = Guarded::in_clear("mysql");
    server.serves(together([
        clients::python(&["mysqlclient_client.py"]),
        clients::node(&[("mysql_clients.cjs", "mysql2"), ("mysql_clients.cjs", "mariadb")]),
        clients::java("JdbcMariadb.java"),
    ]));
}

/// What libpq and its like read from the environment.
fn verified(authority: &str) -> [(&'static str, &str); 2] {
    [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", authority)]
}

#[test]
#[ignore = "minutes: many clients"]
fn clients_of_postgresql_speak_tls() {
    if !need::program("psql") {
        return;
    }
    let server = Guarded::by_tls("postgres");
    let authority = server.authority();
    let found = together([
        clients::python(&["psycopg2_client.py", "psycopg_client.py", "asyncpg_client.py"]),
        clients::ruby(&["rails_postgres.rb"]),
        clients::php("postgres.php"),
        clients::perl("postgres.pl"),
    ]);
    server.serves(with(found, &verified(&authority)));
    let node = clients::node(&[("pg_client.cjs", "pg"), ("postgres_client.cjs", "postgres")]);
    server.serves(with(together([node]), &[("SQL_CA", &authority)]));
    let bound = psql(&server, &[("PGCHANNELBINDING", "require")], &authority);
    assert_eq!(bound.ok().trim(), "1");
    let clear = psql(&server, &[("PGSSLMODE", "disable")], &authority);
    assert_ne!(clear.code, 0, "{clear:?}");
}

#[test]
#[ignore = "minutes: many clients"]
fn clients_of_postgresql_speak_tls_where_they_want_to_at_an_address_in_clear() {
    if !need::program("psql") {
        return;
    }
    let server = Guarded::by_both("postgres");
    let authority = server.authority();
    for environment in [
        &[("PGSSLMODE", "disable")][..],
        &[("PGSSLMODE", "prefer")],
        &[("PGSSLMODE", "require")],
        &[("PGSSLMODE", "verify-full"), ("PGCHANNELBINDING", "require")],
    ] {
        let said = psql(&server, environment, &authority);
        assert_eq!(said.ok().trim(), "1", "{environment:?}");
    }
}

#[test]
#[ignore = "minutes: many clients"]
fn clients_of_mysql_speak_tls() {
    if !need::program("mariadb") {
        return;
    }
    let server = Guarded::by_tls("mysql");
    let authority = server.authority();
    let found = together([clients::python(&[
        "pymysql_client.py",
        "mariadb_client.py",
        "mysql_connector_client.py",
    ])]);
    server.serves(with(found, &[("SQL_CA", &authority)]));
    let encrypted = mariadb(
        &server.place,
        &["--ssl-verify-server-cert", "--ssl-ca", &authority],
    );
    assert_eq!(encrypted.ok().trim(), "1");
}

#[test]
#[ignore = "minutes: many clients"]
fn no_client_of_mysql_logs_in_in_clear_where_the_address_is_one_of_tls() {
    if !need::program("mariadb") {
        return;
    }
    let server = Guarded::by_tls("mysql");
    let clear = mariadb(&server.place, &["--skip-ssl"]);
    assert_ne!(clear.code, 0, "{clear:?}");
}

/// One statement that takes nothing, over TLS but where the environment says otherwise.
fn psql(server: &Guarded, environment: &[(&str, &str)], authority: &str) -> Said {
    let mut command = Command::new("psql");
    command
        .args([
            "-X",
            "-A",
            "-t",
            "-h",
            "127.0.0.1",
            "-U",
            &server.place.user,
            "-d",
            "ids",
        ])
        .args(["-p", &server.place.at.port().to_string(), "-c", "SELECT 1"])
        .env("PGPASSWORD", &server.place.password)
        .envs(verified(authority))
        .envs(environment.iter().copied());
    command.output().unwrap().into()
}

fn mariadb(place: &Place, words: &[&str]) -> Said {
    let mut command = Command::new("mariadb");
    command
        .args(["--no-defaults", "-h", "127.0.0.1", "-N", "-B", "-e", "SELECT 1"])
        .args(["-P", &place.at.port().to_string(), "-u", &place.user])
        .arg(format!("-p{}", place.password))
        .args(words);
    command.output().unwrap().into()
}

/// Whoever shows a wrong token, or another one's name, is told what PostgreSQL and MySQL tell.
#[test]
#[ignore = "minutes: many clients"]
fn a_wrong_token_is_refused_as_a_wrong_password() {
    if !(need::program("psql") && need::program("mariadb")) {
        return;
    }
    let postgres = Guarded::in_clear("postgres");
    let mysql = Guarded::in_clear("mysql");
    let as_somebody = |server: &Guarded, user: &str, password: &str| Place {
        at: server.place.at,
        user: user.into(),
        password: password.into(),
    };
    let tried = |place: &Place| {
        let mut command = Command::new("psql");
        command
            .args([
                "-X",
                "-h",
                "127.0.0.1",
                "-U",
                &place.user,
                "-d",
                "ids",
                "-c",
                "SELECT 1",
            ])
            .args(["-p", &place.at.port().to_string()])
            .env("PGPASSWORD", &place.password);
        Said::from(command.output().unwrap())
    };
    // In clear any name goes with a token: only SCRAM needs its own.
    for (user, password) in [("app", "wrong"), ("nobody", "wrong")] {
        let said = tried(&as_somebody(&postgres, user, password));
        let expected = format!("password authentication failed for user \"{user}\"");
        assert!(said.code == 2 && said.err.contains(&expected), "{said:?}");
    }
    for (user, password, used) in [
        ("app", "wrong", "YES"),
        ("nobody", &*mysql.place.password, "YES"),
        ("app", "", "NO"),
    ] {
        let said = mariadb(&as_somebody(&mysql, user, password), &[]);
        let expected = format!(
            "ERROR 1045 (28000): Access denied for user '{user}'@'127.0.0.1' (using password: {used})"
        );
        assert!(said.code == 1 && said.err.contains(&expected), "{said:?}");
    }
}

/// Whoever needs no token shows none; and MariaDB's own client waits to be asked when it is told to use the old way.
#[test]
fn clients_of_mysql_without_a_password_come_in_where_none_is_needed() {
    if !need::program("mariadb") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let token = run::new_token(at, "app --may allocate --sql --mysql-native");
    let old_way = ["--default-auth=mysql_native_password"];
    let start = |auth: &str| {
        let settings = format!("[auth]\ntoken_file = \"tokens.toml\"\n[faces.mysql]\nauth = \"{auth}\"\n");
        std::fs::write(at.join("mint.toml"), settings).unwrap();
        Faces::by(at, "", &["mysql"], &[])
    };
    let of = |faces: &Faces, user: &str, password: &str| Place {
        at: faces.place("mysql").at,
        user: user.into(),
        password: password.into(),
    };
    let guarded = start("token");
    for words in [&[][..], &old_way] {
        assert_eq!(mariadb(&of(&guarded, "app", &token), words).ok(), "1\n");
        assert_ne!(mariadb(&of(&guarded, "app", ""), words).code, 0);
    }
    drop(guarded);
    let open = start("open");
    for words in [&[][..], &old_way] {
        assert_eq!(mariadb(&of(&open, "anybody", ""), words).ok(), "1\n");
    }
}
