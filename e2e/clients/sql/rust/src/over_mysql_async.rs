use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Pool, TxOpts};

async fn ticket(connection: &mut Conn) {
    connection
        .query_drop("REPLACE INTO tickets (stub) VALUES ('a')")
        .await
        .expect("a ticket");
    let id = connection.last_insert_id().expect("its number");
    let told: Option<u64> = connection
        .query_first("SELECT LAST_INSERT_ID()")
        .await
        .expect("a row");
    assert_eq!(told, Some(id));
    println!("tickets {id}");
}

async fn next(on: &mut impl Queryable) {
    let number: Option<i64> = on.query_first("SELECT NEXTVAL(orders)").await.expect("a number");
    println!("orders {}", number.expect("a row"));
}

async fn take(url: &str) {
    let pool = Pool::new(url);
    for _ in 0..3 {
        let mut connection = pool.get_conn().await.expect("it connects");
        ticket(&mut connection).await;
        next(&mut connection).await;
        let bound = "REPLACE INTO tickets (stub) VALUES (?)";
        connection.exec_drop(bound, ("a",)).await.expect("a ticket");
        println!("tickets {}", connection.last_insert_id().expect("its number"));
        let prepared: Option<i64> = connection
            .exec_first("SELECT NEXTVAL(orders)", ())
            .await
            .expect("a number");
        println!("orders {}", prepared.expect("a row"));
        connection.ping().await.expect("it answers");
    }
    let mut connection = pool.get_conn().await.expect("it connects");
    let refused = connection.query_drop("SELECT NEXTVAL(nosuch)").await.unwrap_err();
    assert!(refused.to_string().contains("4091"), "{refused}");
    let mut block = connection
        .start_transaction(TxOpts::default())
        .await
        .expect("a transaction");
    next(&mut block).await;
    block.rollback().await.expect("it is rolled back");
    let many: Vec<i64> = connection
        .query("SELECT NEXTVAL(orders) FROM seq_1_to_5")
        .await
        .expect("five numbers");
    assert_eq!(many.len(), 5);
    many.iter().for_each(|number| println!("orders {number}"));
    drop(connection);
    pool.disconnect().await.expect("it ends");
}

pub(crate) fn run(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(take(url));
}
