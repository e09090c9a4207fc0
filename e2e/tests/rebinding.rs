//! A page whose name was pointed at this machine after it was loaded (DNS rebinding), in a real browser: it is of one origin
//! with the server.
#![allow(clippy::unwrap_used)]

use mintage_e2e::browser::Browser;
use mintage_e2e::server::Start;
use serde_json::json;

/// What a page tries: it takes away all that it can of what tells of it. Answers the status of each.
const TRY: &str = r#"
    const policy = document.createElement("meta");
    policy.name = "referrer";
    policy.content = arguments[0];
    document.head.appendChild(policy);
    const ask = (method, headers) => {
        const request = new XMLHttpRequest();
        request.open(method, "/api/segment/get/order", false);
        for (const [name, value] of headers) request.setRequestHeader(name, value);
        request.send();
        return request.status;
    };
    return [
        ask("GET", []),
        ask("GET", [["Accept", "*/*"], ["Accept-Language", ""]]),
        ask("GET", [["Accept", "application/json"], ["Accept-Language", "*"]]),
        ask("POST", [["Accept-Language", ""]]),
    ];
"#;

// claim: P72
#[test]
fn a_page_behind_a_name_that_was_pointed_here_gets_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .args(["--face", "leaf=127.0.0.1:0"])
        .ready();
    let made = server.http("PUT", "/v1/sequences/leaf:order", "{}");
    assert_eq!(made.status, 201, "{}", made.text());
    let leaf = server.ready["faces"]["leaf"][0].as_str().unwrap();
    let port = leaf.rsplit(':').next().unwrap();
    // The refusal of the page itself is a document of its origin, in which a script runs as one of the page would.
    let Some(evil) = Browser::open(&format!("http://evil.example:{port}")) else {
        return;
    };
    assert!(evil.text().contains("server.http.hosts"), "{}", evil.text());
    for policy in ["no-referrer", "unsafe-url"] {
        assert_eq!(
            evil.script_of(TRY, &json!([policy])),
            json!([421, 421, 421, 421]),
            "{policy}"
        );
    }
    let next = server.http("POST", "/v1/sequences/leaf:order/next", "").json();
    assert_eq!(next["ids"][0], "1", "a page took numbers");
    // The same page behind the address is the server's own.
    let own = Browser::open(&format!("http://127.0.0.1:{port}")).unwrap();
    assert_eq!(
        own.script_of(TRY, &json!(["unsafe-url"])),
        json!([200, 200, 200, 200])
    );
}
