//! What the console does: each act through the page, and what the server says of it afterwards.
//!
//! Covers: crates/server/src/faces/http
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use mintage_e2e::browser::{Browser, keys};
use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_e2e::{http, run};
use mintage_testing::no_secret_in;
use serde_json::{Value, json};

use crate::console::{allow_changes, furnish, made, show_token, tokens};

/// Asks the page to make the sequence `orders`.
fn ask_for_orders(browser: &Browser) {
    browser.go("#/sequences");
    browser.click("main button", "Create a sequence");
    browser.enter("dialog [name=name]", "orders");
    browser.click("dialog button", "Create");
}

fn shown(server: &Server, name: &str) -> Value {
    server.http("GET", &format!("/v1/sequences/{name}"), "").json()
}

#[test]
#[ignore = "minutes: a browser"]
fn each_act_on_a_sequence_reaches_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    browser.go("#/sequences");
    browser.sees("There is no sequence yet.");
    let buttons =
        browser.script("return [...document.querySelectorAll('main button')].map((one) => one.textContent)");
    assert!(
        !buttons.to_string().contains("Create"),
        "nothing is offered before it is allowed: {buttons}"
    );
    allow_changes(&browser);
    browser.click("main button", "Create a sequence");
    browser.enter("dialog [name=name]", "orders");
    browser.enter("dialog [name=start]", "100");
    browser.sees(r#"{"start":"100"}"#);
    browser.click("dialog button", "Create");
    browser.until("document.querySelector('h1').textContent === 'orders'");
    assert_eq!(shown(&server, "orders")["start"], "100");
    // What exists is refused in words, in the dialog.
    ask_for_orders(&browser);
    browser.until("document.querySelector('dialog .error')?.textContent.includes('exists')");
    browser.press(keys::ESCAPE);
    browser.go("#/sequences/orders");
    browser.click("main button", "Give me one");
    browser.click("dialog button", "Give me one");
    browser.until("document.querySelector('dialog output').textContent === '100'");
    assert_eq!(shown(&server, "orders")["last"], "100");
    browser.click("dialog button", "Close");
    browser.click("main button", "Set forward");
    browser.enter("dialog [name=value]", "5000");
    browser.sees("The next one is 5,001.");
    browser.click("dialog button", "Set forward");
    browser.until("!document.querySelector('dialog')");
    assert_eq!(shown(&server, "orders")["last"], "5000");
    // Back is refused, with its reason; whoever goes on by the keyboard is where he was.
    browser.click("main button", "Set forward");
    browser.enter("dialog [name=value]", "7");
    browser.sees("7 is not beyond 5,000");
    browser.click("dialog button", "Set forward");
    browser.until("document.querySelector('dialog .error')?.textContent.includes('repeat')");
    browser.until("document.activeElement.closest('dialog')");
    browser.fill("dialog [name=value]", "9223372036854775807");
    browser.sees("there is no next one");
    browser.press(keys::ESCAPE);
    browser.until("document.activeElement.textContent === 'Set forward'");
    // The commands ask the server that this is.
    let port = format!("redis-cli -p {}", server.resp.port());
    browser.click("main button", "Give me one");
    browser.click("dialog [role=tab]", "redis-cli");
    browser.sees(&port);
    // A dialog is of its view.
    browser.script("location.hash = '#/now'");
    browser.until("!document.querySelector('dialog') && document.querySelectorAll('.says').length === 3");
    browser.go("#/sequences/orders");
    browser.click("main button", "Change");
    browser.fill("dialog [name=max]", "9000");
    browser.click("dialog button", "Change");
    browser.until("!document.querySelector('dialog')");
    assert_eq!(shown(&server, "orders")["max"], "9000");
    // A wrong word drops nothing, whatever is pressed.
    browser.click("main button", "Drop");
    browser.enter("dialog input", "order");
    browser.press(keys::ENTER);
    assert_eq!(
        browser.script("return document.querySelector('dialog .danger').disabled"),
        true
    );
    assert_eq!(shown(&server, "orders")["name"], "orders");
    browser.enter("dialog input", "s");
    browser.click("dialog button", "Drop it");
    browser.until("document.querySelector('h1').textContent === 'Sequences'");
    assert_eq!(server.http("GET", "/v1/sequences/orders", "").status, 404);
}

#[test]
#[ignore = "minutes: a browser"]
fn a_window_that_lasts_is_not_released_and_an_outage_is_rehearsed() {
    let Some(store) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .args(["--store", &made(&store, folder.path())])
        .ready();
    furnish(&server);
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    allow_changes(&browser);
    let map = server.http("GET", "/v1/pools/default/map", "").json();
    let held = map["windows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["ours"] == true);
    let worker = held.unwrap()["worker"].to_string();
    browser.go(&format!("#/map/default?worker={worker}"));
    browser.click("main button", "Release …");
    browser.enter("dialog input", &worker);
    browser.click("dialog button", "Release");
    browser.until("document.querySelector('dialog .error')?.textContent.length > 20");
    let why = browser.script("return document.querySelector('dialog .error').innerText");
    assert!(why.as_str().unwrap().contains("conflict"), "{why}");
    browser.press(keys::ESCAPE);
    browser.go("#/cluster");
    browser.click("main button", "Rehearse an outage");
    browser.fill("dialog input[type=number]", "300");
    browser.enter("dialog input:not([type=number])", "rehears");
    assert_eq!(
        browser.script("return document.querySelector('dialog .danger').disabled"),
        true
    );
    browser.enter("dialog input:not([type=number])", "e");
    browser.click("dialog button", "Begin");
    browser.sees("A rehearsal: treated as away for");
    assert!(server.http("GET", "/v1/cluster", "").json()["rehearsal_left_s"].as_u64() > Some(0));
    browser.go("#/now");
    browser.sees("An outage is rehearsed");
    browser.until("document.querySelector('.says.bad')");
    browser.go("#/cluster");
    browser.click("main button", "End it");
    browser.until("!document.body.innerText.includes('A rehearsal: treated as away')");
    assert_eq!(
        server.http("GET", "/v1/cluster", "").json()["rehearsal_left_s"],
        Value::Null
    );
    browser.go("#/now");
    // The refused release is told for a minute still.
    browser.until("document.querySelector('.says p').textContent.length > 3 && !document.body.innerText.includes('rehearsed')");
}

#[test]
#[ignore = "minutes: a browser"]
fn a_window_that_passed_is_released() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .under(["env", "MINT_POOLS__WINDOW=2s"])
        .ready();
    let lent = server.http("POST", "/v1/pools/default/windows", r#"{"name": "checkout"}"#);
    let worker = lent.json()["worker"].to_string();
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    allow_changes(&browser);
    browser.go(&format!("#/map/default?worker={worker}"));
    browser.until("document.querySelector('.told').textContent.includes('passed')");
    browser.click("main button", "Release …");
    browser.enter("dialog input", &worker);
    browser.click("dialog button", "Release");
    browser.sees(&format!("worker {worker} is free"));
    browser.until("!document.querySelector('dialog[open]')");
    browser.until(
        "document.querySelector('.map .win.released') && !document.body.innerText.includes('Release …')",
    );
    let map = server.http("GET", "/v1/pools/default/map", "").json();
    assert_eq!(map["windows"][0]["is"], "released", "{map}");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// A counter of Redis on its way: each step is seen by whoever has the page open.
#[test]
#[ignore = "minutes: a browser"]
fn a_move_is_followed_there_and_back() {
    let Some(redis) = Redis::run() else { return };
    redis.admin(&["SET", "orders", "1000"]);
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("shop.url");
    fs::write(&url, redis.url(redis.address())).unwrap();
    let config = format!("[sources.shop]\nurl_file = {:?}\n", url.display().to_string());
    fs::write(folder.path().join("mint.toml"), config).unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    browser.go("#/move");
    browser.sees("Nothing was moved here.");
    for (way, phase, means) in [
        ("--apply", "open", "Moved: this server gives the numbers."),
        (
            "--back --apply",
            "returned",
            "Moved back: the source gives the numbers.",
        ),
        ("--beside --apply", "beside", "Both give numbers"),
    ] {
        let words = format!("import shop --name orders=orders --server {} {way}", server.url());
        run::mint(folder.path(), words.split_whitespace()).ok();
        browser.sees(means);
        let step = "document.querySelector('main [aria-current=step]').textContent";
        browser.until(&format!("{step} === '{phase}'"));
    }
    let text = browser.text();
    assert!(text.contains("orders") && text.contains("redis"), "{text}");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// What a plot shows can be held still, looked at over another time, and taken away as it is.
#[test]
#[ignore = "minutes: a browser"]
fn a_plot_is_held_still_and_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let history = || server.http("GET", "/v1/history?range=10m", "").json();
    let taken = || {
        server.http("POST", "/v1/sequences/orders/next?count=100", "");
        let series = &history()["series"]["ids/sequence"];
        series
            .as_array()
            .is_some_and(|rates| rates.iter().any(|rate| rate.as_f64() > Some(0.0)))
    };
    eventually("numbers are in the history", taken);
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    let shown = || browser.script("return document.querySelector('main figure svg').outerHTML");
    browser.until("document.querySelector('main figure svg path')");
    browser.click("main button", "Pause");
    let still = shown();
    let saved = || browser.saved("main button", "Ids a second: values as CSV", "ids-a-second.csv");
    let before = saved();
    let since = history()["until_ms"].as_i64();
    eventually("seconds pass", || {
        taken();
        history()["until_ms"].as_i64() > since.map(|ms| ms + 3000)
    });
    assert_eq!(shown(), still);
    let table = saved();
    assert_eq!(table, before, "files hold what is shown");
    let rows: Vec<Vec<String>> = String::from_utf8(table)
        .unwrap()
        .lines()
        .map(|row| row.split(',').map(String::from).collect())
        .collect();
    assert_eq!(rows[0][..2], ["time", "ids/sequence"], "{rows:?}");
    let rates: Vec<f64> = rows[1..].iter().filter_map(|row| row[1].parse().ok()).collect();
    // A second that nobody measured has none.
    let known: Vec<Option<f64>> =
        serde_json::from_value(history()["series"]["ids/sequence"].clone()).unwrap();
    let mut rest = known.iter().flatten();
    // In the server's order, each of them.
    assert!(
        rates.iter().all(|rate| rest.any(|known| known == rate)),
        "{rates:?} of {known:?}"
    );
    assert!(rates.iter().any(|rate| *rate > 0.0), "{rates:?}");
    let picture = browser.saved("main button", "Ids a second: picture as SVG", "ids-a-second.svg");
    let picture = String::from_utf8(picture).unwrap();
    assert!(
        picture.starts_with("<svg") && picture.contains("Ids a second"),
        "{picture}"
    );
    let picture = browser.saved("main button", "Ids a second: picture as PNG", "ids-a-second.png");
    assert!(picture.starts_with(b"\x89PNG"), "{} bytes", picture.len());
    browser.click("main button", "Go on");
    browser.until(&format!(
        "document.querySelector('main figure svg').outerHTML !== {still}"
    ));
    browser.click("main button", "2 hours");
    browser.until("location.hash.includes('range=2h') && document.querySelector('main [aria-pressed=true]').textContent === '2 hours'");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// Names that would do something if any of them became markup; all are legal but the last, which hides a character.
const WORST: [&str; 5] = [
    "<img src=x onerror=alert(1)>",
    "\"><script>alert(1)</script>",
    "javascript:alert(1)//%0aalert(1)",
    "' onmouseover='alert(1)' x='</style><svg onload=alert(1)>",
    "\u{202e}a%2F..%2f#/now?contains=<b>",
];

#[test]
#[ignore = "minutes: a browser"]
fn no_name_becomes_markup() {
    let folder = tempfile::tempdir().unwrap();
    let [boss, _] = tokens(folder.path());
    run::new_token(folder.path(), "b --may read");
    let text = fs::read_to_string(folder.path().join("tokens.toml")).unwrap();
    fs::write(
        folder.path().join("tokens.toml"),
        text.replace("name = \"b\"", "name = \"<b>x</b>\""),
    )
    .unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let ask = |method: &str, path: &str, body: &str| {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {boss}\r\nuser-agent: <img src=x onerror=alert(2)>\r\nx-forwarded-for: <b>1</b>\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            server.http,
            body.len()
        );
        http::raw(server.http, request.as_bytes()).unwrap()
    };
    let encoded = |name: &str| {
        name.bytes().fold(String::new(), |mut all, octet| {
            let _ = write!(all, "%{octet:02X}");
            all
        })
    };
    let hidden = format!("/v1/sequences/{}", encoded(WORST[4]));
    assert_eq!(ask("PUT", &hidden, "{}").status, 400);
    for name in &WORST[..4] {
        let path = format!("/v1/sequences/{}", encoded(name));
        assert_eq!(ask("PUT", &path, "{}").status, 201, "{name}");
        assert_eq!(ask("POST", &format!("{path}/next"), "").status, 200, "{name}");
        let pool = format!("/v1/pools/{}", encoded(name));
        assert_eq!(
            ask("PUT", &pool, r#"{"preset": "twitter"}"#).status,
            201,
            "{name}"
        );
        let borrower = json!({ "name": name }).to_string();
        assert_eq!(
            ask("POST", &format!("{pool}/windows"), &borrower).status,
            201,
            "{name}"
        );
    }
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    show_token(&browser, &boss);
    browser.until("document.querySelectorAll('.says').length === 3");
    let mut hashes = vec!["#/now", "#/sequences", "#/map", "#/cluster", "#/access", "#/move"]
        .into_iter()
        .map(String::from)
        .collect::<Vec<_>>();
    for name in WORST {
        for view in ["sequences", "map", "decode"] {
            hashes.push(format!("#/{view}/{}", encoded(name)));
        }
        hashes.push(format!("#/sequences?contains={}", encoded(name)));
    }
    hashes.push("#/<img src=x onerror=alert(1)>".into());
    for hash in hashes {
        browser.go(&hash);
        browser.until("document.querySelector('main .view')?.textContent.length > 10");
        let made = browser.script("return [...document.querySelectorAll('img, script, b, style, iframe, [onerror], [onmouseover], [onload], a[href^=\"javascript:\"]')].map((one) => one.outerHTML)");
        let own = |html: &&Value| {
            let html = html.as_str().unwrap();
            // The page's own: its script, and names in bold as text.
            html == "<script src=\"console.js\" defer=\"\"></script>"
                || (html.starts_with("<b>") && !html[3..html.len() - 4].contains('<'))
        };
        let foreign: Vec<&Value> = made
            .as_array()
            .unwrap()
            .iter()
            .filter(|html| !own(html))
            .collect();
        assert!(foreign.is_empty(), "{hash}: {foreign:?}");
    }
    browser.go("#/access");
    browser.sees("<b>x</b>");
    for name in &WORST[..4] {
        browser.sees(name);
        browser.go("#/sequences");
        browser.sees(name);
        browser.click("main tbody a", name);
        browser.until(&format!(
            "document.querySelector('h1').textContent === {}",
            json!(name)
        ));
        // The acts are about this name too.
        browser.click("main button", "Give me one");
        browser.click("dialog button", "Give me one");
        browser.until("document.querySelector('dialog output').textContent.length > 0");
        browser.click("dialog button", "Close");
        browser.go("#/access");
    }
}

#[test]
#[ignore = "minutes: a browser"]
fn a_token_opens_what_it_may_and_stays_out_of_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let [boss, reader] = tokens(folder.path());
    let server = Start::in_folder(folder.path()).ready();
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    browser.sees("This server wants a token");
    show_token(
        &browser,
        "mint_0000000000000000000000000000000000000000000000000000000000000000",
    );
    browser.sees("The token is not accepted");
    // One that may not see everything is told so, and is not asked with again and again.
    let narrow = run::new_token(folder.path(), "narrow --may read:zzz");
    eventually("the server knows it", || {
        let words = format!("-o /dev/null -w %{{http_code}} {}/v1/sequences/zzz", server.url());
        run::curl_as(folder.path(), &narrow, &words).out == "404"
    });
    show_token(&browser, &narrow);
    browser.until("/may read some names alone/.test(document.querySelector('#banner').textContent)");
    let asked = || {
        let all = browser.requests();
        let of_live = all.iter().filter(|request| {
            request["url"]
                .as_str()
                .is_some_and(|url| url.ends_with("/v1/live"))
        });
        of_live.count()
    };
    let before = asked();
    // A stream that is tried again is tried within a second or two.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(asked(), before);
    browser.click("#tools button", "Forget the token");
    browser.sees("This server wants a token");
    show_token(&browser, &reader);
    browser.until("document.querySelectorAll('.says').length === 3 && document.querySelector('#banner').textContent === ''");
    ask_for_orders(&browser);
    browser.until("document.querySelector('dialog .error')?.textContent.includes('may not admin')");
    browser.press(keys::ESCAPE);
    browser.go("#/access");
    browser.until("document.querySelector('main .error')?.textContent.includes('may not')");
    // Another token, without another tab.
    browser.click("#tools button", "Forget the token");
    browser.sees("This server wants a token");
    show_token(&browser, &boss);
    browser.sees("dashboard");
    ask_for_orders(&browser);
    browser.until("document.querySelector('h1').textContent === 'orders'");
    let words = "token revoke boss --file tokens.toml";
    run::mint(folder.path(), words.split(' ')).ok();
    browser.sees("The token is not accepted any more");
    show_token(&browser, &reader);
    browser.until("document.querySelector('h1').textContent === 'orders'");
    // To look is no act: what was done is the one sequence, and the attempt to make it.
    let trail = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    let acts: Vec<Value> = trail
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(acts.len(), 2, "{trail}");
    assert!(acts.iter().all(|act| act["what"] == "create"), "{trail}");
    let requests = browser.requests();
    assert!(requests.len() > 10, "{requests:?}");
    for request in &requests {
        let url = request["url"].as_str().unwrap();
        for token in [&boss, &reader] {
            no_secret_in("a request", url, token);
            assert!(!url.contains("mint_"), "{url}");
        }
    }
}

#[test]
#[ignore = "minutes: a browser"]
fn the_decoder_reads_one_many_and_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let id = |path: &str| {
        server.http("POST", path, "").json()["ids"][0]
            .as_str()
            .unwrap()
            .to_string()
    };
    let (uuid, snowflake) = (id("/v1/ids/uuid7"), id("/v1/snowflakes/default"));
    server.http("PUT", "/v1/sequences/orders", r#"{"start": "7000123"}"#);
    let number = id("/v1/sequences/orders/next");
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    browser.go("#/decode");
    for (text, reading, verdict) in [
        (&uuid, "UUID version 7", "given out here"),
        (&snowflake, "Snowflake, twitter", "pool default"),
        (&number, "sequence orders", "given out"),
    ] {
        browser.fill("main textarea", text);
        browser.press(keys::ENTER);
        browser.until(&format!("location.hash.includes({})", json!(text)));
        browser.sees(reading);
        browser.until(&format!(
            "document.querySelector('main').innerText.toLowerCase().includes('{verdict}')"
        ));
        browser.until("document.querySelector('.ruler svg') || document.body.innerText.includes('7000123')");
    }
    let many: Vec<String> = (0..10)
        .flat_map(|_| {
            let answer = server.http("POST", "/v1/ids/uuid7?count=100", "").json();
            let ids: Vec<String> = serde_json::from_value(answer["ids"].clone()).unwrap();
            ids
        })
        .collect();
    browser.script_of(
        "document.querySelector('main textarea').value = arguments[0]",
        &json!([many.join("\n")]),
    );
    browser.click("main button", "Decode");
    // Each is a request: a minute for every part of them.
    for part in [250, 500, 750] {
        browser.until(&format!(
            "(document.querySelector('main progress')?.value ?? 1000) >= {part}"
        ));
    }
    browser.sees("1,000 ids");
    browser.sees("none is repeated");
    let file = folder.path().join("ids.csv");
    fs::write(&file, format!("id\n{}\n{}\n{}\n", many[0], many[1], many[0])).unwrap();
    let audited = |name: &str| {
        browser.sees(&format!("Audit of {name}"));
        browser.sees("1 repeated");
        browser.sees("not sound");
    };
    browser.choose_file("main input[type=file]", &file);
    audited("ids.csv");
    let dropped = folder.path().join("dropped.csv");
    fs::copy(&file, &dropped).unwrap();
    browser.drop_file("main textarea", &dropped);
    audited("dropped.csv");
}
