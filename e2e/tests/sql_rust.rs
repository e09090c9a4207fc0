//! Stock clients of Rust: sqlx of both protocols, and tokio-postgres. Each is first right against the original.
//!
//! Covers: crates/faces/src/postgres, crates/faces/src/mysql, crates/faces/src/sql
#![allow(clippy::unwrap_used)]

use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::numbers::Numbers;
use mintage_e2e::sqlwire::originals;
use mintage_e2e::sqlwire::place::Place;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, Executor};

/// What a client has said so far.
#[derive(Default)]
struct Said(String);

impl Said {
    fn got(&mut self, name: &str, number: i64) {
        self.0 += &format!("{name} {number}\n");
    }

    #[track_caller]
    fn ok(self) {
        Numbers::default().add(&(self.0 + "ok\n")).unwrap();
    }
}

fn wait<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(task)
}

fn url(scheme: &str, place: &Place) -> String {
    format!("{scheme}://{}:{}@{}/ids", place.user, place.password, place.at)
}

const NEXT: &str = "SELECT nextval('orders')";

async fn sqlx_postgres(place: &Place) {
    let url = url("postgres", place);
    let pool = PgPoolOptions::new().max_connections(1).connect(&url);
    let pool = pool.await.unwrap();
    let mut said = Said::default();
    for _ in 0..4 {
        said.got("orders", sqlx::query_scalar(NEXT).fetch_one(&pool).await.unwrap());
        let bound = sqlx::query_scalar("SELECT nextval($1)").bind("orders");
        said.got("orders", bound.fetch_one(&pool).await.unwrap());
    }
    let refused = pool.execute("SELECT nextval('nosuch')").await.unwrap_err();
    let code = refused.as_database_error().unwrap().code();
    assert_eq!(code.as_deref(), Some("42P01"), "{refused}");
    let mut block = pool.begin().await.unwrap();
    said.got(
        "orders",
        sqlx::query_scalar(NEXT).fetch_one(&mut *block).await.unwrap(),
    );
    let mut inner = block.begin().await.unwrap();
    inner.execute("SELECT nextval('nosuch')").await.unwrap_err();
    inner.rollback().await.unwrap();
    said.got(
        "orders",
        sqlx::query_scalar(NEXT).fetch_one(&mut *block).await.unwrap(),
    );
    block.commit().await.unwrap();
    let many = sqlx::query_scalar("SELECT nextval('orders') FROM generate_series(1, $1)").bind(5);
    let many: Vec<i64> = many.fetch_all(&pool).await.unwrap();
    assert_eq!(many.len(), 5);
    many.into_iter().for_each(|number| said.got("orders", number));
    pool.acquire().await.unwrap().ping().await.unwrap();
    pool.close().await;
    said.ok();
}

async fn tokio_postgres(place: &Place) {
    let mut config = tokio_postgres::Config::new();
    config.host("127.0.0.1").port(place.at.port()).dbname("ids");
    config.user(&place.user).password(&place.password);
    let (mut client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut said = Said::default();
    let prepared = client.prepare("SELECT nextval($1::text)").await.unwrap();
    for _ in 0..4 {
        said.got("orders", client.query_one(NEXT, &[]).await.unwrap().get(0));
        said.got(
            "orders",
            client.query_one(&prepared, &[&"orders"]).await.unwrap().get(0),
        );
    }
    let refused = client
        .query_one("SELECT nextval('nosuch')", &[])
        .await
        .unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "42P01", "{refused}");
    let block = client.transaction().await.unwrap();
    said.got("orders", block.query_one(NEXT, &[]).await.unwrap().get(0));
    let portal = block.bind("SELECT nextval('orders') FROM generate_series(1, 5)", &[]);
    let portal = portal.await.unwrap();
    for wanted in [2, 2, 1] {
        let rows = block.query_portal(&portal, 2).await.unwrap();
        assert_eq!(rows.len(), wanted);
        rows.iter().for_each(|row| said.got("orders", row.get(0)));
    }
    block.rollback().await.unwrap();
    let simple = client
        .simple_query("SELECT nextval('orders'); SELECT 1")
        .await
        .unwrap();
    assert!(simple.len() >= 4, "{simple:?}");
    client.batch_execute("DISCARD ALL").await.unwrap();
    client.check_connection().await.unwrap();
    drop((prepared, client));
    connection.await.unwrap().unwrap();
    said.ok();
}

async fn sqlx_mysql(place: &Place) {
    let url = url("mysql", place);
    let pool = MySqlPoolOptions::new().max_connections(1).connect(&url);
    let pool = pool.await.unwrap();
    let mut said = Said::default();
    for _ in 0..4 {
        let ticket = sqlx::query("REPLACE INTO tickets (stub) VALUES (?)").bind("a");
        let id = ticket.execute(&pool).await.unwrap().last_insert_id();
        said.got("tickets", id.try_into().unwrap());
        let again: u64 = sqlx::query_scalar("SELECT LAST_INSERT_ID()")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(again, id);
        let next = sqlx::query_scalar("SELECT NEXTVAL(orders)");
        said.got("orders", next.fetch_one(&pool).await.unwrap());
        // Without preparing it.
        let done = pool
            .execute("REPLACE INTO tickets (stub) VALUES ('a')")
            .await
            .unwrap();
        said.got("tickets", done.last_insert_id().try_into().unwrap());
    }
    let refused = pool.execute("SELECT NEXTVAL(nosuch)").await.unwrap_err();
    assert!(refused.to_string().contains("Unknown SEQUENCE"), "{refused}");
    let mut block = pool.begin().await.unwrap();
    let next = sqlx::query_scalar("SELECT NEXTVAL(orders)");
    said.got("orders", next.fetch_one(&mut *block).await.unwrap());
    block.rollback().await.unwrap();
    let next = sqlx::query_scalar("SELECT NEXTVAL(orders)");
    said.got("orders", next.fetch_one(&pool).await.unwrap());
    pool.acquire().await.unwrap().ping().await.unwrap();
    pool.close().await;
    said.ok();
}

#[test]
#[ignore = "minutes: many clients"]
fn sqlx_has_numbers_as_from_postgresql() {
    if let Some((_server, place)) = originals::postgres() {
        wait(sqlx_postgres(&place));
    }
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::with_sequences(folder.path(), "postgres", &["orders"]);
    wait(sqlx_postgres(&faces.place("postgres")));
}

#[test]
#[ignore = "minutes: many clients"]
fn tokio_postgres_has_numbers_as_from_postgresql() {
    if let Some((_server, place)) = originals::postgres() {
        wait(tokio_postgres(&place));
    }
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::with_sequences(folder.path(), "postgres", &["orders"]);
    wait(tokio_postgres(&faces.place("postgres")));
}

#[test]
#[ignore = "minutes: many clients"]
fn sqlx_has_numbers_as_from_mariadb() {
    if let Some((_server, place)) = originals::mariadb() {
        wait(sqlx_mysql(&place));
    }
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::with_sequences(folder.path(), "mysql", &["orders", "tickets"]);
    wait(sqlx_mysql(&faces.place("mysql")));
}
