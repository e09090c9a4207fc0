//! Stock diesel (over libpq) and mysql_async: PORT USER PASSWORD CLIENT. Prints each number as `orders NUMBER` or `tickets
//! NUMBER`, and `ok`.

mod over_diesel;
mod over_mysql_async;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [port, user, password, client] = &words[..] else {
        panic!("PORT USER PASSWORD CLIENT, not {words:?}");
    };
    let url = |scheme: &str| format!("{scheme}://{user}:{password}@127.0.0.1:{port}/ids");
    match client.as_str() {
        "diesel" => over_diesel::run(&url("postgres")),
        "mysql_async" => over_mysql_async::run(&url("mysql")),
        other => panic!("no client is called {other}"),
    }
    println!("ok");
}
