//! What a hash function gave.

use alloc::format;
use alloc::string::ToString;

use super::{Foreign, Found};
use crate::format::Details;
use crate::text::radix;
use crate::time::Timestamp;

pub(super) const DIGEST: Foreign = Foreign {
    name: "digest",
    is: "a hash in hexadecimal, by its length: MD5, SHA-1, SHA-2, SHA-3, BLAKE",
    source: "RFC 1321, FIPS 180-4, FIPS 202, RFC 7693",
    read: digest,
};

pub(super) const SWHID: Foreign = Foreign {
    name: "swhid",
    is: "an identifier of software, by the hash of its content",
    source: "ISO/IEC 18670:2025, SWHID",
    read: swhid,
};

pub(super) const IPFS: Foreign = Foreign {
    name: "ipfs",
    is: "a content identifier of IPFS, version 0 or 1",
    source: "multiformats/cid, README",
    read: ipfs,
};

fn digest(text: &str, _: Timestamp) -> Option<Found> {
    let container = text.rsplit_once('@').map_or(text, |(_, digest)| digest);
    if let Some(text) = container
        .strip_prefix("sha256:")
        .filter(|text| text.len() == 64 && super::is_lower_hex(text))
    {
        let details = Details::default().text("function", "SHA-256").text("hash", text);
        return Some(Found::new(
            0.98,
            "the form of a digest of a container's image or layer",
            details,
        ));
    }
    let (functions, confidence) = match text.len() {
        32 => ("MD5", 0.6),
        40 => ("SHA-1 (a commit of git), RIPEMD-160", 0.85),
        56 => ("SHA-224, SHA3-224", 0.85),
        64 => ("SHA-256 (a layer of a container), SHA3-256, BLAKE2s, BLAKE3", 0.9),
        96 => ("SHA-384, SHA3-384", 0.9),
        128 => ("SHA-512, SHA3-512, BLAKE2b", 0.9),
        _ => return None,
    };
    let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mixed = text.bytes().any(|byte| byte.is_ascii_uppercase())
        && text.bytes().any(|byte| byte.is_ascii_lowercase());
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    if !hex || mixed || number {
        return None;
    }
    let details = Details::default()
        .text("function", functions)
        .number("bits", text.len() as u64 * 4, 32);
    let why = format!("{} hexadecimal digits, as many as such a hash has", text.len());
    Some(Found::new(confidence, why, details))
}

fn swhid(text: &str, _: Timestamp) -> Option<Found> {
    let core = text.split(';').next().unwrap_or_default();
    let rest = core.strip_prefix("swh:1:")?;
    let (kind, hash) = rest.split_once(':')?;
    let object = match kind {
        "cnt" => "content",
        "dir" => "directory",
        "rev" => "revision",
        "rel" => "release",
        "snp" => "snapshot",
        _ => return None,
    };
    let details = Details::default().text("object", object).text("hash", hash);
    (hash.len() == 40 && super::is_lower_hex(hash))
        .then(|| Found::new(0.99, "the form of a SWHID of version 1", details))
}

fn ipfs(text: &str, _: Timestamp) -> Option<Found> {
    if text.len() == 46 && text.starts_with("Qm") {
        let digits = radix::BASE58_BITCOIN;
        let fits = text.bytes().all(|byte| digits.contains(&byte));
        let details = Details::default()
            .number("version", 0, 32)
            .text("codec", "dag-pb")
            .text("hash", "SHA-256");
        let why = "46 characters of base 58 that begin with Qm: a SHA-256 behind its marks";
        return fits.then(|| Found::new(0.95, why, details));
    }
    let body = text.strip_prefix('b').filter(|body| body.len() == 58)?;
    let base32 = b"abcdefghijklmnopqrstuvwxyz234567";
    // Version, codec, hash function and its length have the first 4 of 36 bytes.
    let head = radix::read(body.get(..8)?.as_bytes(), base32, false).ok()? as u64;
    if !body.bytes().all(|byte| base32.contains(&byte)) {
        return None;
    }
    let [_, _, _, version, codec, function, length, _] = head.to_be_bytes();
    if version != 1 || length != 32 {
        return None;
    }
    let codec = match codec {
        0x55 => "raw".to_string(),
        0x70 => "dag-pb".to_string(),
        0x71 => "dag-cbor".to_string(),
        0x72 => "libp2p-key".to_string(),
        other => format!("0x{other:02x}"),
    };
    let function = match function {
        0x12 => "SHA-256".to_string(),
        0x1e => "BLAKE3".to_string(),
        other => format!("0x{other:02x}"),
    };
    let details = Details::default()
        .number("version", 1, 32)
        .text("codec", codec)
        .text("hash", function);
    let why = "base 32 with the marks of a content identifier of version 1";
    Some(Found::new(0.97, why, details))
}
