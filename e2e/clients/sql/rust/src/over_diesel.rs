use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Integer, Text};

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

fn got(numbers: QueryResult<Vec<Number>>) {
    for found in numbers.expect("numbers") {
        println!("orders {}", found.number);
    }
}

fn next(connection: &mut PgConnection) {
    got(sql_query("SELECT nextval('orders') AS number").load(connection));
}

pub(crate) fn run(url: &str) {
    let mut connection = PgConnection::establish(url).expect("it connects");
    for _ in 0..4 {
        next(&mut connection);
        let bound = sql_query("SELECT nextval($1) AS number").bind::<Text, _>("orders");
        got(bound.load(&mut connection));
    }
    let refused = sql_query("SELECT nextval('nosuch')").execute(&mut connection);
    assert!(refused.unwrap_err().to_string().contains("does not exist"));
    connection
        .transaction(|block| {
            next(block);
            let inner = block.transaction(|inner| sql_query("SELECT nextval('nosuch')").execute(inner));
            assert!(inner.is_err());
            next(block);
            QueryResult::Ok(())
        })
        .expect("it is committed");
    let many =
        sql_query("SELECT nextval('orders') AS number FROM generate_series(1, $1)").bind::<Integer, _>(5);
    got(many.load(&mut connection));
    connection.batch_execute("SELECT 1; SELECT 2").expect("a batch");
    next(&mut connection);
}
