//! The console while something goes wrong, and with very much of everything.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use mintage_e2e::browser::Browser;
use mintage_e2e::engine::port;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::server::Start;
use mintage_e2e::store_suite::Engine;

use crate::console::made;

#[test]
#[ignore = "minutes: a browser"]
fn a_store_that_goes_is_told_and_that_it_is_back_too() {
    if let Some(redis) = Redis::run() {
        goes_and_comes(redis);
    }
    if let Some(postgres) = Postgres::run() {
        goes_and_comes(postgres);
    }
}

fn goes_and_comes(mut store: impl Engine) {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .args(["--store", &made(&store, folder.path())])
        .ready();
    server.http("POST", "/v1/sequences/orders/next", "");
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    let wrong = "document.querySelector('.says p').textContent";
    browser.sees("Nothing is wrong.");
    for is_frozen in [true, false] {
        if is_frozen {
            store.freeze();
        } else {
            store.stop();
        }
        browser.until(&format!(
            "{wrong}.toLowerCase().includes('the store has not answered for')"
        ));
        browser.until("document.querySelector('.says.bad') && document.querySelector('dd.bad')?.textContent.startsWith('away')");
        // What is in memory goes on.
        let next = server.http("POST", "/v1/sequences/orders/next", "");
        assert_eq!(next.status, 200, "{next:?}");
        if is_frozen {
            store.thaw();
        } else {
            store.start();
        }
        browser.until("document.querySelector('.says.calm') && !document.querySelector('dd.bad')");
        browser.until(&format!("{wrong} === 'Nothing is wrong.'"));
    }
}

#[test]
#[ignore = "minutes: a browser"]
fn a_server_that_was_killed_leaves_an_old_picture_and_comes_back_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let words = format!("--http {} --resp {}", port::free(), port::free());
    let start = Start::bare(folder.path(), &words);
    let server = start.ready();
    server.http("POST", "/v1/sequences/orders/next", "");
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    browser.sees("orders");
    server.kill();
    browser.until("/The stream is broken.*What you see is old, from \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d/.test(document.querySelector('#banner').textContent)");
    browser.until("document.documentElement.classList.contains('stale')");
    let server = start.ready();
    browser.until("document.querySelector('#banner').textContent === '' && !document.documentElement.classList.contains('stale')");
    browser.sees("server started");
    // It is the new one that is shown.
    server.http("POST", "/v1/sequences/invoices/next", "");
    browser.sees("invoices");
}

#[test]
#[ignore = "minutes: a browser, and a hundred thousand sequences"]
fn a_hundred_thousand_sequences_are_no_more_than_a_page() {
    const MANY: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .args(["--store", "memory:"])
        .ready();
    let mut stream = TcpStream::connect(server.resp).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    for page in 0..MANY / 1000 {
        let mut commands = String::new();
        for at in page * 1000..(page + 1) * 1000 {
            commands += &format!("SET shop-{at:06} {}\r\n", (at * 7919) % 1_000_003);
        }
        stream.write_all(commands.as_bytes()).unwrap();
        for _ in 0..1000 {
            assert_eq!(answers.next().unwrap().unwrap(), "+OK");
        }
    }
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    browser.go("#/sequences");
    browser.sees("1 to 100 of 100,000");
    let rows = "document.querySelectorAll('main tbody tr').length";
    assert_eq!(browser.script(&format!("return {rows}")), 100);
    let first = "document.querySelector('main tbody th').textContent";
    browser.click("main button", "Name");
    browser.until(&format!("{first} === 'shop-000000'"));
    browser.click("main nav button", "Last");
    browser.sees("99,901 to 100,000 of 100,000");
    browser.until(&format!("{first} === 'shop-099900'"));
    browser.click("main button", "Largest number");
    browser.until(&format!("{first} !== 'shop-000000' && {first} !== 'shop-099900'"));
    let top = server.http("GET", "/v1/top?by=last&limit=1", "").json();
    let largest = top["sequences"][0]["name"].as_str().unwrap();
    browser.until(&format!("{first} === '{largest}'"));
    browser.enter("main input[type=search]", "shop-09999");
    browser.sees("1 to 10 of 10");
    browser.enter("main input[type=search]", "7");
    browser.sees("1 to 1 of 1");
    browser.until(&format!("{first} === 'shop-099997'"));
    let nodes = browser.script("return document.querySelectorAll('*').length");
    assert!(nodes.as_u64() < Some(3000), "{nodes} elements");
}
