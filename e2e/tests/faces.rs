//! What all faces of other systems have in common: how they are switched on, and what is refused.
#![allow(clippy::unwrap_used)]

use std::net::TcpListener;

use mintage_e2e::engine::port;
use mintage_e2e::server::Start;
use mintage_e2e::{http, run};

/// `mint serve --check` with these words, in a folder with this file: its exit code and what it said.
fn checked(words: &[&str], file: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mint.toml"), file).unwrap();
    let said = run::mint(folder.path(), [&["serve", "--check"], words].concat());
    (said.code, said.out + &said.err)
}

#[test]
fn all_faces_can_be_switched_on_together() {
    let (code, said) = checked(&["--face", "all"], "");
    assert_eq!(
        (code, said.trim()),
        (0, "the server could start with this configuration")
    );
}

#[test]
fn what_does_not_go_together_is_refused_with_what_to_do() {
    let token = format!(
        "[auth]\ntokens = [{{name = \"a\", sha256 = \"{}\", may = [\"allocate\"]}}]\n",
        "0".repeat(64)
    );
    let open = format!("{token}[faces.leaf]\nauth = \"open\"\n");
    let create = format!("{open}create = true\n");
    for (words, file, says) in [
        (&["--face", "leav"][..], "", "--face leav: there is no such face"),
        (&["--face", "leav"], "", "there are leaf, "),
        (&["--face", "http"], "", "there is no such face"),
        (&["--face", "all=127.0.0.1:1"], "", "there is no such face"),
        (&["--face", "leaf=8080"], "", "is neither ADDRESS:PORT"),
        (
            &["--face", "leaf=127.0.0.1:7600"],
            "",
            "faces.leaf.listen and server.http.listen are both 127.0.0.1:7600",
        ),
        (
            &["--face", "leaf=127.0.0.1:9999", "--face", "tinyid"],
            "",
            "are both 127.0.0.1:9999",
        ),
        (&["--face", "idgo=main"], "", "this face has no paths of its own"),
        (
            &["--face", "leaf=main", "--http", "off"],
            "",
            "server.http.listen is off",
        ),
        (
            &["--http", "main"],
            "",
            "this is our own port: it needs an address",
        ),
        (
            &["--face", "leaf=0.0.0.0:8080"],
            "",
            "(--face leaf) = 0.0.0.0:8080 is reachable by others, and no tokens",
        ),
        (
            &["--face", "leaf=0.0.0.0:8080"],
            "",
            "one of three: [auth] tokens with faces.leaf.auth = \"token\"",
        ),
        (
            &["--face", "leaf=0.0.0.0:8080"],
            &open,
            "is reachable by others, and it asks for no tokens",
        ),
        (
            &["--face", "leaf"],
            &create,
            "faces.leaf.create and faces.leaf.auth = \"open\" do not go together",
        ),
        (
            &[],
            "[faces.leaf]\nprefix = \"a\\u0000\"\n",
            "cannot begin a name",
        ),
        (
            &[],
            "[faces.leaf]\nnames = { a = \"\" }\n",
            "faces.leaf.names: \"a\": ",
        ),
        (
            &[],
            "[faces.leaf]\nallow = [\"10.0.0.0/33\"]\n",
            "is not a network such as",
        ),
        (
            &[],
            "[faces.leaf]\nlisten = [\"off\", \"main\"]\n",
            "off stands alone",
        ),
        (
            &["--face", "leaf=0.0.0.0:8080"],
            &token,
            "in clear: tokens can be read on the way",
        ),
        (
            &[],
            "[faces.leav]\nlisten = \"off\"\n",
            "did you mean faces.leaf.",
        ),
    ] {
        let (code, said) = checked(words, file);
        assert_eq!(code, 2, "{words:?} {file}: {said}");
        assert!(said.contains(says), "{words:?} {file}: {said}");
    }
    let limited = format!("{open}allow = [\"10.0.0.0/8\"]\n");
    for (words, file, says) in [
        (
            &["--face", "leaf=0.0.0.0:8080", "--insecure"][..],
            token.as_str(),
            "tokens travel in clear",
        ),
        (
            &["--face", "leaf=0.0.0.0:8080"],
            &limited,
            "whoever comes from the networks of allow can take numbers",
        ),
        (
            &["--face", "leaf=0.0.0.0:8080", "--insecure"],
            "",
            "is open: anybody who reaches it",
        ),
    ] {
        let (code, said) = checked(words, file);
        assert_eq!(code, 0, "{words:?} {file}: {said}");
        assert!(said.contains(says), "{words:?} {file}: {said}");
    }
}

#[test]
fn a_port_that_is_taken_is_named_with_its_face() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let said = Start::in_folder(folder.path())
        .args(["--face", &format!("tinyid={at}")])
        .refused();
    let expected = format!("cannot listen on {at} for tinyid's HTTP: the address is in use");
    assert!(said.err.contains(&expected), "{}", said.err);
    let hint = "choose another with --face tinyid=ADDRESS or faces.tinyid.listen";
    assert!(said.err.contains(hint), "{}", said.err);
}

/// Off, a face answers as a route that there is not; its own port and ours answer alike.
#[test]
fn a_face_is_off_or_on_a_port_of_its_own_or_on_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = "/tinyid/id/nextIdSimple?bizType=a&token=t";
    let server = Start::in_folder(folder.path()).ready();
    let answer = server.http("GET", path, "");
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (404, &"unknown_route".into())
    );
    assert_eq!(server.ready["faces"], serde_json::json!({}));
    assert_eq!(server.stop(), 0);
    let (at, other) = (port::free(), port::free());
    let flags = [at.to_string(), other.to_string(), "main".into()].map(|at| format!("--face=tinyid={at}"));
    let server = Start::in_folder(folder.path()).args(flags).ready();
    let places = [at.to_string(), other.to_string(), server.http.to_string()];
    assert_eq!(server.ready["faces"], serde_json::json!({ "tinyid": places }));
    assert_eq!(server.http("POST", "/v1/sequences/tinyid:a/next", "").status, 200);
    for (number, to) in [(2, at), (3, other), (4, server.http)] {
        assert_eq!(
            http::exchange(to, "GET", path, "").unwrap().text(),
            number.to_string()
        );
    }
    assert_eq!(server.stop(), 0);
}
