//! The console as a browser shows it: every view with data and without, for eyes, readers of screens and keyboards.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mintage_e2e::binary;
use mintage_e2e::browser::{Browser, Look, WIDE, artefacts, keys};
use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::server::{Server, Start, two_servers};
use mintage_e2e::store_suite::Engine;
use mintage_e2e::{http, need, run};
use serde_json::{Value, json};

/// A view: its name in pictures, its address, its heading, and what is there once it is whole.
type View = (&'static str, String, &'static str, &'static str);

const UUID: &str = "01929f6e-4f6c-7d4a-9a55-0f3c2b1a4d5e";

fn views() -> Vec<View> {
    let view = |name, hash: &str, heading, whole| (name, hash.to_string(), heading, whole);
    vec![
        view(
            "now",
            "#/now",
            "Now",
            "document.querySelector('.says.well p').textContent.length > 3",
        ),
        view(
            "sequences",
            "#/sequences",
            "Sequences",
            "document.querySelector('main tbody tr, main .empty')",
        ),
        view(
            "sequence",
            "#/sequences/orders",
            "orders",
            "document.querySelector('main .tile, main .error')",
        ),
        view(
            "pools",
            "#/map",
            "Window map",
            "document.querySelector('main tbody tr, main .empty')",
        ),
        view(
            "map",
            "#/map/default",
            "Windows of default",
            "document.querySelector('main .map svg, main .error')",
        ),
        view(
            "decoder",
            "#/decode",
            "Decoder",
            "document.querySelector('main textarea')",
        ),
        view(
            "decoded",
            &format!("#/decode/{UUID}"),
            "Decoder",
            "document.querySelector('main .origins, main [role=status] p') && document.querySelector('main .ruler svg')",
        ),
        view(
            "cluster",
            "#/cluster",
            "Cluster",
            "document.querySelector('main tbody tr')",
        ),
        view(
            "access",
            "#/access",
            "Access",
            "document.querySelectorAll('main tbody tr, main .empty').length >= 2",
        ),
        view(
            "move",
            "#/move",
            "Move",
            "document.querySelector('main section, main .empty')",
        ),
        view(
            "nowhere",
            "#/nowhere",
            "Nothing is here",
            "document.querySelector('main .empty')",
        ),
    ]
}

const HEADING: &str = "document.querySelector('h1')?.textContent";

fn shows(browser: &Browser, (name, hash, heading, whole): &View) {
    browser.go(hash);
    browser.until(&format!("{HEADING} === '{heading}' && {whole}"));
    // Some views have nothing but an error where there is nothing.
    if !["sequence", "map"].contains(name) {
        let error = browser.script("return document.querySelector('.error')?.innerText ?? null");
        assert_eq!(error, Value::Null, "{name}");
    }
}

/// Looks at every view, and gives what is wrong with them.
fn look_at_all(browser: &Browser, axe: &str, of: &str) -> Vec<String> {
    let mut wrongs = Vec::new();
    for view in views() {
        for (width, is_dark) in [(1280, false), (1280, true), (400, false), (400, true)] {
            browser.look(Look { width, is_dark });
            shows(browser, &view);
            let shade = if is_dark { "dark" } else { "light" };
            let what = format!("{of}-{}-{width}-{shade}", view.0);
            browser.until(&format!("document.documentElement.dataset.theme === '{shade}'"));
            let found = browser.axe(axe);
            wrongs.extend(found.into_iter().map(|line| format!("{what}: {line}")));
            let over = browser.script("return document.documentElement.scrollWidth - innerWidth");
            if over.as_i64() > Some(0) {
                wrongs.push(format!("{what}: scrolls sideways by {over} pixels"));
            }
            browser.picture(width, &artefacts().join(format!("{what}.png")));
        }
    }
    wrongs
}

/// Clients that take numbers of a few sequences all the time, until they are dropped.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    client: Option<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn on(server: &Server) -> Load {
        Load::of(server, None)
    }

    fn of(server: &Server, token: Option<&str>) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let mut client = server.redis();
        if let Some(token) = token {
            client.ask(&["AUTH", token]).unwrap();
        }
        let stopped = stop.clone();
        let client = thread::spawn(move || {
            let rates = [
                ("orders", 14),
                ("payments", 9),
                ("tickets", 1),
                ("invoices", 2),
                ("shop/eu/carts", 5),
            ];
            let mut turn = 0usize;
            // The server may be killed meanwhile.
            while !stopped.load(Ordering::Relaxed) {
                turn += 1;
                for (name, often) in rates {
                    let many = (often + (turn / 40 + often) % 5).to_string();
                    if client.ask(&["INCRBY", name, &many]).is_err() {
                        return;
                    }
                }
                for format in ["uuid7", "snowflake"] {
                    if client.ask(&["MINT.ID", format, "COUNT", "3"]).is_err() {
                        return;
                    }
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        Load {
            stop,
            client: Some(client),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(client) = self.client.take() {
            client.join().ok();
        }
    }
}

/// Who asks a server, with a token that may be empty.
struct Asker(SocketAddr, String);

impl Asker {
    fn ask(&self, method: &str, path: &str, body: &str) -> http::Answer {
        let Asker(server, token) = self;
        let length = body.len();
        let token = if token.is_empty() {
            String::new()
        } else {
            format!("authorization: Bearer {token}\r\n")
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n{token}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        http::raw(*server, request.as_bytes()).unwrap()
    }
}

/// A server has much to show then: sequences of every kind, pools, windows that others borrowed.
pub(crate) fn furnish(server: &Server) {
    furnish_as(&Asker(server.http, String::new()));
}

fn furnish_as(server: &Asker) {
    let put = |path: &str, body: Value| {
        let answer = server.ask("PUT", path, &body.to_string());
        assert!(answer.status < 300, "{path}: {answer:?}");
    };
    for (name, definition) in [
        ("orders", json!({})),
        ("invoices", json!({"gap": "none"})),
        ("tickets", json!({"max": "250000", "max_gap": "1000"})),
        ("shop%2Feu%2Fcarts", json!({})),
        ("legacy.users", json!({})),
        ("payments", json!({"increment": "10"})),
        ("lottery", json!({"min": "1", "max": "49", "cycle": true})),
        (
            "countdown",
            json!({"start": "-1", "increment": "-1", "min": "-1000000000", "max": "-1"}),
        ),
    ] {
        put(&format!("/v1/sequences/{name}"), definition);
    }
    for (name, last) in [
        ("orders", "2100483000"),
        ("payments", "88120040"),
        ("tickets", "201007"),
        ("invoices", "40213"),
        ("shop%2Feu%2Fcarts", "7301"),
        ("legacy.users", "4294967295"),
    ] {
        let (path, body) = (format!("/v1/sequences/{name}/restart"), json!({ "value": last }));
        let answer = server.ask("POST", &path, &body.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    for name in [
        "customers",
        "shipments",
        "shop%2Fus%2Fcarts",
        "returns",
        "warehouse.bins",
        "inc:%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7",
    ] {
        server.ask("POST", &format!("/v1/sequences/{name}/next?count=17"), "");
    }
    put("/v1/pools/eu", json!({"preset": "sonyflake"}));
    for pool in ["default", "eu"] {
        server.ask("POST", &format!("/v1/snowflakes/{pool}"), "");
    }
    for name in [
        "checkout-1",
        "checkout-2",
        "mobile-gateway",
        "nightly-import",
        "search-7",
    ] {
        let lent = server.ask(
            "POST",
            "/v1/pools/default/windows",
            &json!({"name": name}).to_string(),
        );
        assert_eq!(lent.status, 201, "{lent:?}");
    }
}

/// Makes a store of an empty server, and gives its URL.
pub(crate) fn made(store: &impl Engine, folder: &Path) -> String {
    let url = store.url(store.address());
    run::patient_mint(folder, ["init", "--store", &url]).ok();
    url
}

/// A server with an administrator and somebody who only looks: their tokens.
pub(crate) fn tokens(folder: &Path) -> [String; 2] {
    let text = "[auth]\ntoken_file = \"tokens.toml\"\n[audit]\nfile = \"audit.jsonl\"\nsync = true\n";
    fs::write(folder.join("mint.toml"), text).unwrap();
    ["boss --may admin,allocate,read", "dashboard --may read"].map(|words| run::new_token(folder, words))
}

/// Sends the token that the page asks for.
pub(crate) fn show_token(browser: &Browser, token: &str) {
    browser.enter("input[type=password]", token);
    browser.press(keys::ENTER);
}

/// Allows changes, on a server without tokens.
pub(crate) fn allow_changes(browser: &Browser) {
    browser.click("#tools button", "Read only");
    browser.click("dialog button", "Allow changes");
    browser.until("document.querySelector('#tools [aria-pressed=true]')");
}

#[test]
fn the_page_is_small_and_bound_to_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let parts = [
        ("/", "text/html; charset=utf-8"),
        ("/console.css", "text/css; charset=utf-8"),
        ("/console.js", "text/javascript; charset=utf-8"),
    ];
    let mut octets = 0;
    for (path, kind) in parts {
        let answer = server.http("GET", path, "");
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some(kind)),
            "{path}"
        );
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let text = answer.text();
        let namespaces = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !namespaces.contains("http://") && !namespaces.contains("https://"),
            "{path} names another server"
        );
        octets += answer.body.len();
    }
    assert!(octets <= 150 * 1024, "{octets} octets");
}

#[test]
#[ignore = "minutes: a browser looks at every view four times"]
fn every_view_without_data_is_for_everybody() {
    let (Some(axe), folder) = (need::axe(), tempfile::tempdir().unwrap()) else {
        return;
    };
    let server = Start::in_folder(folder.path()).ready();
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    assert_eq!(look_at_all(&browser, &axe, "without"), Vec::<String>::new());
}

#[test]
#[ignore = "minutes: a browser looks at every view four times"]
fn every_view_with_data_is_for_everybody() {
    let (Some(axe), Some(store)) = (need::axe(), Redis::run()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let servers = two_servers(folder.path(), &made(&store, folder.path()));
    furnish(&servers[0]);
    let load = Load::on(&servers[0]);
    let Some(browser) = Browser::open(&servers[0].url()) else {
        return;
    };
    allow_changes(&browser);
    browser.go("#/now");
    browser.until("document.querySelectorAll('main tbody tr').length >= 3");
    assert_eq!(look_at_all(&browser, &axe, "with"), Vec::<String>::new());
    drop(load);
}

#[test]
#[ignore = "minutes: a browser"]
fn a_dialog_is_for_everybody_too() {
    let (Some(axe), folder) = (need::axe(), tempfile::tempdir().unwrap()) else {
        return;
    };
    let server = Start::in_folder(folder.path()).ready();
    furnish(&server);
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    allow_changes(&browser);
    let mut wrongs = Vec::new();
    for (hash, button) in [
        ("#/sequences", "Create a sequence"),
        ("#/sequences/orders", "Give me one"),
        ("#/sequences/orders", "Set forward"),
        ("#/sequences/orders", "Change"),
        ("#/sequences/orders", "Drop"),
        ("#/cluster", "Rehearse an outage"),
    ] {
        browser.go(hash);
        for (width, is_dark) in [(1280, false), (400, true)] {
            browser.click("main button", button);
            browser.until("document.querySelector('dialog[open] form')");
            // While it is open: what is below it is drawn anew.
            browser.look(Look { width, is_dark });
            let found = browser.axe(&axe);
            wrongs.extend(
                found
                    .into_iter()
                    .map(|line| format!("{button} at {width}: {line}")),
            );
            let name = button.replace(' ', "-").to_lowercase();
            browser.picture(width, &artefacts().join(format!("dialog-{name}-{width}.png")));
            browser.press(keys::ESCAPE);
            browser.until("!document.querySelector('dialog')");
            // Who came by the button is at the button again.
            browser.until(&format!("document.activeElement.textContent === '{button}'"));
        }
        browser.look(WIDE);
    }
    assert_eq!(wrongs, Vec::<String>::new());
}

#[test]
#[ignore = "minutes: a browser"]
fn a_keyboard_alone_goes_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    furnish(&server);
    let Some(browser) = Browser::open(&server.url()) else {
        return;
    };
    allow_changes(&browser);
    browser.go("#/sequences");
    browser.until("document.querySelector('main tbody a')");
    // From the top, as a browser begins in a page that was just loaded.
    browser.reload();
    browser.until("document.querySelector('main tbody a')");
    let mut stops = Vec::new();
    for _ in 0..40 {
        browser.press(keys::TAB);
        let stop = browser.script(
            "const one = document.activeElement, style = getComputedStyle(one);
             return { name: one.getAttribute('aria-label') ?? one.textContent.trim(), row: !!one.closest('tbody'),
                      seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 }",
        );
        assert_eq!(stop["seen"], true, "no focus is visible on {stop}");
        stops.push(stop["name"].as_str().unwrap().to_string());
        if stop["row"] == true {
            break;
        }
    }
    let at = |name: &str| {
        stops
            .iter()
            .position(|stop| stop == name)
            .unwrap_or_else(|| panic!("{name}: {stops:?}"))
    };
    assert_eq!(at("Skip to the content"), 0, "{stops:?}");
    assert!(at("Sequences") < at("Filter by a part of the name"), "{stops:?}");
    assert!(at("Filter by a part of the name") < stops.len() - 1, "{stops:?}");
    let name = stops.last().unwrap().clone();
    browser.press(keys::ENTER);
    browser.until(&format!("{HEADING} === {}", json!(name)));
    // A dialog by keys: opened, left, the focus is back.
    browser.click("main button", "Drop");
    browser.until("document.activeElement.closest('dialog')");
    browser.press(keys::ESCAPE);
    browser.until("!document.querySelector('dialog') && document.activeElement.textContent === 'Drop'");
}

#[test]
#[ignore = "minutes: a browser"]
fn what_is_asked_most_is_two_steps_away() {
    let Some(store) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let servers = two_servers(folder.path(), &made(&store, folder.path()));
    furnish(&servers[0]);
    eventually("the other holds a worker, too", || {
        servers[1].http("POST", "/v1/snowflakes/default", "").status == 200
    });
    let Some(browser) = Browser::open(&servers[0].url()) else {
        return;
    };
    // Which sequence ends first?
    browser.click("nav a", "Sequences");
    browser.click("main button", "Ends first");
    let first = servers[0].http("GET", "/v1/top?by=ends&limit=1", "").json();
    let name = first["sequences"][0]["name"].as_str().unwrap();
    browser.until(&format!(
        "document.querySelector('main tbody th').textContent.startsWith({})",
        json!(name)
    ));
    // Which server holds worker 7?
    let cluster = servers[1].http("GET", "/v1/cluster", "").json();
    let holder = &cluster["servers"][0];
    let worker = holder["workers"][0].as_str().unwrap().rsplit(':').next().unwrap();
    browser.go("#/now");
    browser.click("nav a", "Cluster");
    browser.enter("main input[type=search]", worker);
    let answer = format!(
        "{} holds worker {worker} of default",
        holder["name"].as_str().unwrap()
    );
    browser.until(&format!(
        "document.querySelector('.found').textContent.includes({})",
        json!(answer)
    ));
}

/// A picture of the documentation: its name, its view, when that is whole, and how much of it is shown.
type Picture = (&'static str, &'static str, &'static str, u32);

const PICTURES: [Picture; 8] = [
    (
        "now",
        "#/now",
        "document.querySelectorAll('main tbody tr').length > 4",
        1270,
    ),
    (
        "sequences",
        "#/sequences?by=ends",
        "document.querySelectorAll('main tbody tr').length > 5",
        1000,
    ),
    (
        "sequence",
        "#/sequences/orders",
        "document.querySelectorAll('.blocks g[data-first]').length > 3",
        1330,
    ),
    (
        "map",
        "#/map/default",
        "document.querySelectorAll('.map g[data-key]').length > 4",
        900,
    ),
    (
        "decoder",
        "#/decode/SNOWFLAKE",
        "document.querySelector('.origins') && document.querySelector('.ruler svg')",
        1330,
    ),
    (
        "cluster",
        "#/cluster",
        "document.querySelectorAll('.whisker').length === 3",
        1000,
    ),
    (
        "access",
        "#/access",
        "document.querySelectorAll('main tbody tr').length > 5",
        1000,
    ),
    (
        "dialog",
        "#/sequences/orders",
        "document.querySelector('.tile')",
        640,
    ),
];

/// The documentation shows the console as it is: with `MINT_TEST_UPDATE` its pictures are made anew, with pngquant
/// where that is installed.
#[test]
#[ignore = "minutes: a browser"]
fn the_documentation_has_its_pictures() {
    let folder = binary::root().join("docs/console");
    if std::env::var_os("MINT_TEST_UPDATE").is_some() {
        write_pictures(&folder);
    }
    let page = fs::read_to_string(binary::root().join("docs/console.md")).unwrap();
    let mut octets = 0;
    for (name, ..) in PICTURES {
        octets += fs::metadata(folder.join(format!("{name}.png"))).unwrap().len();
        assert!(page.contains(&format!("(console/{name}.png)")), "{name}");
    }
    assert!(octets <= 600 * 1024, "{octets} octets of pictures");
}

fn write_pictures(folder: &Path) {
    let Some(store) = Redis::run() else { return };
    let own = tempfile::tempdir().unwrap();
    let url = made(&store, own.path());
    let [boss, _] = tokens(own.path());
    for words in [
        "shop --may allocate:orders,allocate:shop/* --days 90",
        "old-import --may allocate --faces resp --days 30",
    ] {
        run::new_token(own.path(), words);
    }
    let token_file = own.path().join("tokens.toml");
    let servers: Vec<Server> = ["web-1", "web-2", "web-3"]
        .map(|name| {
            let at = own.path().join(name);
            fs::create_dir(&at).unwrap();
            let text = format!(
                "[server]\nname = \"{name}\"\n[auth]\ntoken_file = \"{}\"\n[audit]\nfile = \"audit.jsonl\"\n",
                token_file.display()
            );
            fs::write(at.join("mint.toml"), text).unwrap();
            Start::in_folder(&at).args(["--store", &url]).ready()
        })
        .into();
    let asker = |server: &Server| Asker(server.http, boss.clone());
    furnish_as(&asker(&servers[0]));
    let snowflake = asker(&servers[0])
        .ask("POST", "/v1/snowflakes/default", "")
        .json();
    for server in &servers[1..] {
        asker(server).ask("POST", "/v1/snowflakes/default", "");
    }
    let load = Load::of(&servers[0], Some(&boss));
    let Some(browser) = Browser::open(&servers[0].url()) else {
        return;
    };
    show_token(&browser, &boss);
    // Until there is something to draw, and what was asked without the token lies a minute back.
    eventually("there is a history", || {
        let history = asker(&servers[0]).ask("GET", "/v1/history", "").json();
        history["series"]["ids/sequence"].as_array().map_or(0, Vec::len) > 45
    });
    browser.until("document.querySelector('.says.calm')");
    for (name, hash, whole, high) in PICTURES {
        browser.go(&hash.replace("SNOWFLAKE", snowflake["ids"][0].as_str().unwrap()));
        browser.until(whole);
        match name {
            "map" => browser.click("main button", "Fit all"),
            "dialog" => browser.click("main button", "Set forward"),
            _ => {}
        }
        let file = folder.join(format!("{name}.png"));
        browser.picture_of(1280, high, &file);
        let mut quantised = Command::new("pngquant");
        quantised.args(["--force", "--strip", "--speed", "1", "--ext", ".png", "48"]);
        quantised.arg(&file).status().ok();
    }
    drop(load);
}
