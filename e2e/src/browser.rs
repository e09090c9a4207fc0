//! A private headless Chromium, driven through chromedriver's WebDriver protocol (W3C WebDriver, and Chromium's own
//! `goog/cdp/execute` and `se/log`).
//!
//! Dropped, a browser fails its test if a script failed on the page, if the page broke its own policy, or if it asked
//! any other server than the one under test.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::within_a_minute;
use crate::engine::port::free;
use crate::engine::process::{signal_all, tree};
use crate::{http, need};

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    origin: String,
    /// Its profile, and what it downloads.
    folder: TempDir,
    requests: RefCell<Vec<Value>>,
    errors: RefCell<Vec<String>>,
}

/// How a page is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// The width of the window, in pixels.
    pub width: u32,
    /// Whether the system is dark.
    pub is_dark: bool,
}

/// What the tests take a page to be shown in.
pub const WIDE: Look = Look {
    width: 1280,
    is_dark: false,
};

/// The keys of WebDriver that have no character.
pub mod keys {
    /// Escape.
    pub const ESCAPE: &str = "\u{e00c}";
    /// Enter.
    pub const ENTER: &str = "\u{e007}";
    /// Tab.
    pub const TAB: &str = "\u{e004}";
    /// The arrow to the right.
    pub const RIGHT: &str = "\u{e014}";
}

/// Where WebDriver puts the reference of an element (section 12.1).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

impl Browser {
    /// Opens the console of the server at `origin`, as in `http://127.0.0.1:7600`; `None`, said in words, where
    /// Chromium is absent.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn open(origin: &str) -> Option<Browser> {
        if !need::chromium() {
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let (driver, address) = start_driver(&folder);
        let mut browser = Browser {
            driver,
            address,
            session: String::new(),
            origin: origin.into(),
            folder,
            requests: RefCell::default(),
            errors: RefCell::default(),
        };
        let made = browser.exchange("POST", "/session", &browser.wishes());
        let Some(session) = made["sessionId"].as_str() else {
            panic!("no session: {made}")
        };
        browser.session = format!("/session/{session}");
        browser.look(WIDE);
        browser.go("");
        Some(browser)
    }

    fn wishes(&self) -> Value {
        let profile = format!("--user-data-dir={}", self.folder.path().join("profile").display());
        json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "unhandledPromptBehavior": "ignore",
            "timeouts": {"script": 120_000},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {
                "args": [
                    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--lang=en",
                    "--force-color-profile=srgb", "--window-size=1280,1000", profile,
                    // A name that somebody else has pointed at this machine.
                    "--host-resolver-rules=MAP evil.example 127.0.0.1",
                ],
                "perfLoggingPrefs": {"enableNetwork": true, "enablePage": false},
            },
        }}})
    }

    /// Shows the view of this hash, such as `#/sequences`; the page is loaded if it is not yet.
    ///
    /// # Panics
    /// When it cannot be loaded.
    pub fn go(&self, hash: &str) {
        let url = format!("{}/{hash}", self.origin);
        self.ask("POST", "/url", &json!({ "url": url }));
    }

    /// Loads the page anew.
    ///
    /// # Panics
    /// When it cannot be loaded.
    pub fn reload(&self) {
        self.ask("POST", "/refresh", &json!({}));
    }

    /// The window's width, and light or dark.
    ///
    /// # Panics
    /// When Chromium refuses.
    pub fn look(&self, look: Look) {
        self.metrics(look.width, 1000);
        let scheme = if look.is_dark { "dark" } else { "light" };
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    fn metrics(&self, width: u32, height: u32) {
        let wanted = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", &wanted);
    }

    /// Runs the body of a function on the page and gives what it returns.
    ///
    /// # Panics
    /// When it throws.
    #[track_caller]
    pub fn script(&self, body: &str) -> Value {
        self.script_of(body, &json!([]))
    }

    /// The same with `arguments`.
    ///
    /// # Panics
    /// When it throws.
    #[track_caller]
    pub fn script_of(&self, body: &str, arguments: &Value) -> Value {
        match self.run_script(body, arguments) {
            Ok(value) => value,
            Err(why) => panic!("{body}: {why}"),
        }
    }

    fn run_script(&self, body: &str, arguments: &Value) -> Result<Value, String> {
        self.answer(
            "POST",
            "/execute/sync",
            &json!({"script": body, "args": arguments}),
        )
    }

    /// Waits until an expression of the page is true.
    ///
    /// # Panics
    /// When it is not within a minute: shows what is on the page.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        self.until_so(expression, || {
            let body = format!("return !!({expression})");
            // The page may be on its way from one document to the next.
            self.run_script(&body, &json!([])) == Ok(Value::Bool(true))
        });
    }

    #[track_caller]
    fn until_so(&self, what: &str, is_so: impl FnMut() -> bool) {
        assert!(
            within_a_minute(is_so),
            "not within a minute: {what}; on the page is:\n{}",
            self.text()
        );
    }

    /// Waits until a text is on the page, whatever its case: headings may be shown in other letters.
    ///
    /// # Panics
    /// When it is not within a minute.
    #[track_caller]
    pub fn sees(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text)));
    }

    /// The text that is on the page.
    pub fn text(&self) -> String {
        let text = self.script("return document.body.innerText");
        text.as_str().unwrap_or_default().into()
    }

    /// Clicks the first element of a CSS selector that has `text` as its whole text or name and can be clicked; an
    /// empty text is any. Waits for it.
    ///
    /// # Panics
    /// When there is none within a minute.
    #[track_caller]
    pub fn click(&self, selector: &str, text: &str) {
        self.until_so(&format!("{selector} “{text}” to click"), || {
            let Some(element) = self.element(selector, text) else {
                return false;
            };
            let path = format!("/element/{element}/click");
            let listen = "window.wasClicked = false;
                addEventListener('click', () => { window.wasClicked = true }, {capture: true, once: true})";
            // It may have been replaced meanwhile, or lie below a notice. What is replaced between press and release
            // is clicked for the driver, not for the page.
            self.run_script(listen, &json!([])).is_ok()
                && self.answer("POST", &path, &json!({})).is_ok()
                && self.run_script("return window.wasClicked !== false", &json!([])) != Ok(Value::Bool(false))
        });
    }

    /// Types into the first element of a selector, behind what is there. Waits for it.
    ///
    /// # Panics
    /// When there is none within a minute.
    #[track_caller]
    pub fn enter(&self, selector: &str, text: &str) {
        self.until_so(&format!("{selector} to type into"), || {
            let Some(element) = self.element(selector, "") else {
                return false;
            };
            let path = format!("/element/{element}/value");
            self.answer("POST", &path, &json!({ "text": text })).is_ok()
        });
    }

    /// Replaces what is in a field.
    ///
    /// # Panics
    /// When there is none within a minute.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        self.until_so(&format!("{selector} to fill"), || {
            self.element(selector, "").is_some_and(|element| {
                self.answer("POST", &format!("/element/{element}/clear"), &json!({}))
                    .is_ok()
            })
        });
        self.enter(selector, text);
    }

    /// Chooses a file in a field of files, which may be out of sight.
    ///
    /// # Panics
    /// When there is no such field.
    #[track_caller]
    pub fn choose_file(&self, selector: &str, file: &Path) {
        let found = self.ask(
            "POST",
            "/element",
            &json!({"using": "css selector", "value": selector}),
        );
        let element = found[ELEMENT].as_str().expect("it is an element");
        let path = file.display().to_string();
        self.ask(
            "POST",
            &format!("/element/{element}/value"),
            &json!({ "text": path }),
        );
    }

    /// Drags a file over an element, as from a folder beside the browser, and drops it there.
    ///
    /// # Panics
    /// When there is no such element in sight.
    #[track_caller]
    pub fn drop_file(&self, selector: &str, file: &Path) {
        let middle =
            "const { x, y, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();
            return { x: x + width / 2, y: y + height / 2 }";
        let at = self.script_of(middle, &json!([selector]));
        let data = json!({"items": [], "files": [file], "dragOperationsMask": 1});
        for kind in ["dragEnter", "dragOver", "drop"] {
            let event = json!({"type": kind, "x": at["x"], "y": at["y"], "data": data});
            self.devtools("Input.dispatchDragEvent", &event);
        }
    }

    /// Clicks what offers a file, and waits until it has been saved: its bytes.
    ///
    /// # Panics
    /// When no file of this name is there within a minute.
    #[track_caller]
    pub fn saved(&self, selector: &str, text: &str, name: &str) -> Vec<u8> {
        let folder = self.folder.path().join("saved");
        let allowed = json!({"behavior": "allow", "downloadPath": folder});
        self.devtools("Browser.setDownloadBehavior", &allowed);
        self.click(selector, text);
        let file = folder.join(name);
        // It has another name until it is whole.
        self.until_so(name, || file.exists());
        let saved = std::fs::read(&file).expect("it can be read");
        // The next one of this name would have another.
        std::fs::remove_file(file).expect("the folder is ours");
        saved
    }

    fn element(&self, selector: &str, text: &str) -> Option<String> {
        let body = "const [selector, text] = arguments;
            const named = (one) => text === '' || [one.textContent.trim(), one.getAttribute('aria-label')].includes(text);
            return [...document.querySelectorAll(selector)].find((one) => !one.disabled && one.getClientRects().length && named(one)) ?? null";
        let asked = json!({"script": body, "args": [selector, text]});
        let found = self.answer("POST", "/execute/sync", &asked).ok()?;
        Some(found[ELEMENT].as_str()?.into())
    }

    /// Presses keys, one after the other, wherever the focus is.
    ///
    /// # Panics
    /// When they cannot be pressed.
    pub fn press(&self, keys: &str) {
        let pressed: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()})))
            .collect();
        let source = json!({"type": "key", "id": "keyboard", "actions": pressed});
        self.ask("POST", "/actions", &json!({ "actions": [source] }));
    }

    /// What axe-core finds wrong with the page as it is: a line for each rule, with where.
    ///
    /// # Panics
    /// When axe does not run.
    pub fn axe(&self, source: &str) -> Vec<String> {
        self.script(&format!(
            "if (!window.axe) {{ const module = undefined, define = undefined; {source}\n }}"
        ));
        let run = "const done = arguments[0];
            axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'], resultTypes: ['violations'], preload: false })
              .then((found) => done(found.passes.length < 5 ? ['axe looked at nothing'] : found.violations.map((one) => `${one.id}: ${one.help}: ` + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | '))),
                (why) => done([String(why)]))";
        let found = self.ask("POST", "/execute/async", &json!({"script": run, "args": []}));
        let lines = found.as_array().expect("it lists violations");
        lines
            .iter()
            .map(|line| line.as_str().unwrap_or_default().to_string())
            .collect()
    }

    /// Writes the whole page as PNG; of a very long one the first 4,000 pixels.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn picture(&self, width: u32, file: &Path) {
        self.picture_of(width, 4000, file);
    }

    /// The same of no more than the first `high` pixels.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn picture_of(&self, width: u32, high: u32, file: &Path) {
        // What is there, and not what the window has below it.
        let body =
            "return Math.ceil(document.querySelector('main').getBoundingClientRect().bottom + scrollY)";
        let there = self.script(body).as_u64().unwrap_or(1000) as u32;
        self.metrics(width, there.max(400).min(high));
        // Plots are drawn anew for their new width in the next frame.
        self.ask("POST", "/execute/async", &json!({"script": "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))", "args": []}));
        let shot = self.ask("GET", "/screenshot", &Value::Null);
        let png = unbase64(shot.as_str().expect("it is text"));
        fs::create_dir_all(file.parent().expect("a file has a folder")).expect("the folder can be made");
        fs::write(file, png).expect("the picture can be written");
        self.metrics(width, 1000);
    }

    /// Takes a command of the DevTools protocol.
    ///
    /// # Panics
    /// When it is refused.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let asked = json!({"cmd": command, "params": parameters});
        self.ask("POST", "/goog/cdp/execute", &asked)
    }

    /// Every request of the page so far, as the DevTools protocol tells it.
    ///
    /// # Panics
    /// When the log cannot be read.
    pub fn requests(&self) -> Vec<Value> {
        let log = self.log("performance");
        let mut requests = self.requests.borrow_mut();
        for entry in log {
            let text = entry["message"].as_str().unwrap_or_default();
            let event: Value = serde_json::from_str(text).unwrap_or_default();
            let (method, what) = (&event["message"]["method"], &event["message"]["params"]);
            // The page that a new window begins with is the browser's own.
            let is_browsers = what["documentURL"]
                .as_str()
                .is_some_and(|of| of.starts_with("chrome://") || of.starts_with("chrome-untrusted://"));
            if method == "Network.requestWillBeSent" && !is_browsers {
                requests.push(what["request"].clone());
            }
        }
        requests.clone()
    }

    /// What went wrong on the page: scripts that failed, and what its policy forbids. An answer that is no 200 is the
    /// test's own affair.
    ///
    /// # Panics
    /// When the log cannot be read.
    pub fn errors(&self) -> Vec<String> {
        let log = self.log("browser");
        let mut errors = self.errors.borrow_mut();
        let bad = log
            .iter()
            .filter(|entry| entry["level"] == "SEVERE" && entry["source"] != "network");
        errors.extend(bad.map(|entry| entry["message"].as_str().unwrap_or_default().to_string()));
        errors.clone()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.ask("POST", "/se/log", &json!({ "type": kind }));
        log.as_array().cloned().unwrap_or_default()
    }

    /// Nothing was wrong on the page, and nobody else was asked for anything.
    ///
    /// # Panics
    /// When it was not so.
    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(self.errors(), Vec::<String>::new(), "errors of the page");
        let own = format!("{}/", self.origin);
        let foreign: Vec<String> = self
            .requests()
            .iter()
            .map(|request| request["url"].as_str().unwrap_or_default().to_string())
            .filter(|url| !(url.starts_with(&own) || url.starts_with("data:") || url.starts_with("blob:")))
            .collect();
        assert_eq!(foreign, Vec::<String>::new(), "requests to others");
    }

    /// What is shown while its test fails, as a picture.
    fn keep_failure(&self) {
        let artefacts = artefacts().join("failed");
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("test").replace("::", ".");
        if let Ok(Value::String(shot)) = self.answer("GET", "/screenshot", &Value::Null) {
            fs::create_dir_all(&artefacts).ok();
            fs::write(artefacts.join(format!("{name}.png")), unbase64(&shot)).ok();
        }
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        match self.answer(method, path, body) {
            Ok(value) => value,
            Err(why) => panic!("{method} {path}: {why}"),
        }
    }

    fn answer(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let value = self.exchange(method, &format!("{}{path}", self.session), body);
        match value["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", value["message"])),
            None => Ok(value),
        }
    }

    fn exchange(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = exchange(self.address, method, path, &body).expect("chromedriver answers");
        answer.json()["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let fails = std::thread::panicking();
        let seen = if fails {
            self.keep_failure();
            Ok(())
        } else {
            // Its processes end whatever it is.
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.is_clean()))
        };
        // Its children do not end with it.
        signal_all(&tree(self.driver.id()), "KILL");
        self.driver.wait().ok();
        if let Err(why) = seen {
            std::panic::resume_unwind(why);
        }
    }
}

/// Where pictures are put: `MINT_TEST_ARTEFACTS`, or `target/console`.
pub fn artefacts() -> std::path::PathBuf {
    let named = std::env::var_os("MINT_TEST_ARTEFACTS").map(Into::into);
    named.unwrap_or_else(|| crate::binary::root().join("target/console"))
}

/// Starts what drives the browser. It wants one port number at two addresses, IPv4 and IPv6, and ends where somebody has
/// one of them; it is started again then.
fn start_driver(folder: &TempDir) -> (Child, SocketAddr) {
    crate::need::boots("chromium");
    for _ in 0..20 {
        if let Some(started) = start_driver_at(folder, free()) {
            return started;
        }
    }
    panic!("chromedriver ends at whatever port it is given")
}

fn start_driver_at(folder: &TempDir, address: SocketAddr) -> Option<(Child, SocketAddr)> {
    let mut driver = Command::new("chromedriver")
        .arg(format!("--port={}", address.port()))
        // The driver and the browser have their own files there.
        .env("TMPDIR", folder.path())
        .env("HOME", folder.path())
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromedriver can be started");
    let mut said = BufReader::new(driver.stdout.take().expect("was piped"));
    let mut line = String::new();
    while !line.contains("started successfully") {
        line.clear();
        if said.read_line(&mut line).expect("a pipe can be read") == 0 {
            driver.wait().ok();
            return None;
        }
    }
    // What it says later must go somewhere.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    Some((driver, address))
}

/// Like [`http::exchange`], for a driver that may take minutes on a busy machine.
fn exchange(to: SocketAddr, method: &str, path: &str, body: &str) -> std::io::Result<http::Answer> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(Duration::from_secs(180)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    // It does not always close the connection.
    http::read(&mut BufReader::new(stream))
}

/// Base64 as RFC 4648 has it, section 4; what is no digit is passed over.
fn unbase64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0);
    for six in text.bytes().filter_map(digit) {
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}
