//! What clients of SQL log in by: messages of SCRAM, and the digests in a token's line.

use mintage_server::auth::testing::{Login, scram};
use mintage_server::auth::{ScramVerifier, Verifier};

use crate::{Target, saw};

pub(super) fn targets() -> [Target; 2] {
    let proof = "A".repeat(43) + "=";
    let logins = [
        format!("web\nSCRAM-SHA-256\nn,,n=,r=abc\nc=biws,r=abc,p={proof}\n"),
        format!("web\nSCRAM-SHA-256-PLUS\np=tls-server-end-point,,n=,r=abc\nc=biws,r=abc,p={proof}\nhash"),
        "nobody\nSCRAM-SHA-256\ny,,n=,r=abc\n\n".to_string(),
    ];
    let digests = [
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
         wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
            .to_string(),
        "0f".repeat(32),
        "0f".repeat(20),
    ];
    [
        Target::new("sql-login", logins.map(String::into_bytes), check_login)
            .longest(256)
            .words(&[
                "\n",
                ",",
                "n=",
                "r=",
                "p=",
                "c=",
                "a=",
                "m=",
                "y,,",
                "p=tls-server-end-point,,",
                "=",
            ]),
        Target::new("sql-digest", digests.map(String::into_bytes), check_digest)
            .longest(256)
            .words(&["$", ":", "=", "SCRAM-SHA-256$", "4096", "4294967296"]),
    ]
}

/// Nobody is let in who does not know the token; the nonce that he has to repeat is ours in part, so he cannot even be wrong.
fn check_login(input: &[u8]) {
    let mut parts = input.splitn(5, |byte| *byte == b'\n');
    let mut part = || parts.next().unwrap_or_default();
    let user = String::from_utf8_lossy(part()).into_owned();
    let (mechanism, first, last, binding) = (part(), part(), part(), part());
    let ended = scram(
        &user,
        mechanism,
        first,
        last,
        (!binding.is_empty()).then_some(binding),
    );
    assert!(matches!(ended, Login::Refused(_)), "{ended:?}");
    saw(ended);
}

/// What is read is written again as it was meant, and what is refused is not shown.
fn check_digest(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match ScramVerifier::from_text(text) {
        Ok(read) => assert_eq!(ScramVerifier::from_text(&read.to_text()).as_ref(), Ok(&read)),
        Err(why) => saw(why),
    }
    let hex = Verifier::<32>::from_hex("mysql", text);
    saw(hex.is_ok());
    if let Ok(read) = hex {
        assert!(read.to_hex().eq_ignore_ascii_case(text));
    }
}
