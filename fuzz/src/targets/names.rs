//! Names of sequences and pools, and how they stand in stores' keys.

use mintage_ledger::{Key, Name};

use crate::{Target, saw};

pub(super) fn targets() -> [Target; 2] {
    let pairs = [
        "orders\0orders:2026",
        "{acct}:seq\0{acct}",
        "shop/orders\0shop.orders",
        "Seq Invoice\0Seq",
        "inc:заказ\0inc:€🦀",
        "%41\0A",
        "a b c d e\0a b c f",
        ".\0..",
    ];
    let keys = [
        "orders",
        "Seq%20Invoice",
        "shop.~~orders",
        "%20%25%24\"#",
        "~}}",
        "a%2",
    ];
    [
        Target::new("name", pairs, check_pair).longest(300).words(&[
            "\0", "/", " ", "%", "~", ".~~", "%20", "я", "€", "🦀", "\u{7f}", "\u{a0}",
        ]),
        Target::new("name-key", keys, check_key).words(&["~", ".~~", "%2", "%20", "%25", "/", "\"", "}"]),
    ]
}

/// Two names have two keys, in the same order; each comes back; and those of the old grammar are their own.
fn check_pair(input: &[u8]) {
    let at = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let names = [&input[..at], input.get(at + 1..).unwrap_or_default()].map(Name::from_bytes);
    let [Ok(a), Ok(b)] = names else {
        saw(names.map(|name| name.is_ok()));
        return;
    };
    for name in [&a, &b] {
        let key = name.to_key();
        assert_eq!(Name::from_key(&key).as_ref(), Ok(name));
        let window = format!("window/{key}/0000000001");
        assert!(Key::new(window).is_ok() && !key.contains('/'), "{key}");
        let bytes = name.as_str().as_bytes();
        let old = bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"_.:-".contains(b));
        assert!(!old || key == name.as_str(), "{key}");
        saw((
            key.len() - name.as_str().len(),
            key.contains('~'),
            key.contains('%'),
        ));
    }
    assert_eq!(a.to_key().cmp(&b.to_key()), a.cmp(&b), "{a:?} {b:?}");
}

/// A key is the key of the name that it is read as.
fn check_key(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match Name::from_key(&text) {
        Ok(name) => {
            assert_eq!(name.to_key(), text);
            saw(name.as_str().len());
        }
        Err(error) => saw(error.to_string().len()),
    }
}
