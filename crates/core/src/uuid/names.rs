//! UUIDs computed from a namespace and a name: versions 3 (MD5), 5 (SHA-1) and 8 (SHA-256).
//!
//! The hash of the namespace's 16 octets followed by the name's octets, cut to 128 bits, with version and
//! variant put in (RFC 9562 sections 5.3, 5.5 and appendix B.2). Nothing is added, trimmed or normalised: the
//! same octets give the same id, always and everywhere.

use ::uuid::Uuid;

#[cfg(feature = "names")]
use super::stamp;
#[cfg(feature = "names")]
use crate::whole;

/// The namespaces of RFC 9562 section 6.6, by name.
pub const NAMESPACES: &[(&str, Uuid)] = &[
    ("dns", Uuid::from_u128(0x6ba7b810_9dad_11d1_80b4_00c04fd430c8)),
    ("url", Uuid::from_u128(0x6ba7b811_9dad_11d1_80b4_00c04fd430c8)),
    ("oid", Uuid::from_u128(0x6ba7b812_9dad_11d1_80b4_00c04fd430c8)),
    ("x500", Uuid::from_u128(0x6ba7b814_9dad_11d1_80b4_00c04fd430c8)),
];

/// The namespace called `dns`, `url`, `oid` or `x500`.
///
/// ```
/// let dns = mintage::namespace("dns").expect("a namespace");
/// assert_eq!(dns.to_string(), "6ba7b810-9dad-11d1-80b4-00c04fd430c8");
/// ```
pub fn namespace(name: &str) -> Option<Uuid> {
    NAMESPACES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, id)| *id)
}

/// The UUID of version 3 (MD5) of `name` in `namespace`. Prefer [`uuid5`] where you are free to choose.
///
/// ```
/// let dns = mintage::namespace("dns").expect("a namespace");
/// let id = mintage::uuid3(&dns, b"www.example.com");
/// assert_eq!(id.to_string(), "5df41881-3aed-3515-88a7-2f4a814cf09e"); // RFC 9562 appendix A.2
/// ```
#[cfg(feature = "names")]
pub fn uuid3(namespace: &Uuid, name: &[u8]) -> Uuid {
    let Some(block) = one_block(namespace, name, u64::swap_bytes) else {
        return stamp(u128::from_be_bytes(long_md5(namespace, name)), 3);
    };
    let mut state = MD5_START;
    md5::block_api::compress(&mut state, &[block]);
    let value = state
        .iter()
        .fold(0, |value, word| value << 32 | u128::from(word.swap_bytes()));
    stamp(value, 3)
}

/// The UUID of version 5 (SHA-1) of `name` in `namespace`.
///
/// ```
/// let dns = mintage::namespace("dns").expect("a namespace");
/// let id = mintage::uuid5(&dns, b"www.example.com");
/// assert_eq!(id.to_string(), "2ed6657d-e927-568b-95e1-2665a8aea6a2"); // RFC 9562 appendix A.4
/// ```
#[cfg(feature = "names")]
pub fn uuid5(namespace: &Uuid, name: &[u8]) -> Uuid {
    let words = match one_block(namespace, name, |bits| bits) {
        Some(block) => {
            let mut state = SHA1_START;
            sha1::block_api::compress(&mut state, &[block]);
            [state[0], state[1], state[2], state[3]]
        }
        None => long_sha1(namespace, name),
    };
    let value = words
        .iter()
        .fold(0, |value, word| value << 32 | u128::from(*word));
    stamp(value, 5)
}

/// The UUID of version 8 made from the SHA-256 of `name` in `namespace`, as RFC 9562 appendix B.2 does it.
///
/// ```
/// let dns = mintage::namespace("dns").expect("a namespace");
/// let id = mintage::uuid8_sha256(&dns, b"www.example.com");
/// assert_eq!(id.to_string(), "5c146b14-3c52-8afd-938a-375d0df1fbf6");
/// ```
#[cfg(feature = "names")]
pub fn uuid8_sha256(namespace: &Uuid, name: &[u8]) -> Uuid {
    use sha2::{Digest, Sha256};
    let digest: [u8; 32] = Sha256::new()
        .chain_update(namespace.as_bytes())
        .chain_update(name)
        .finalize()
        .into();
    stamp(
        u128::from_be_bytes(*digest.first_chunk().expect("32 octets hold 16")),
        8,
    )
}

/// Namespace, name and the hash's padding in one block, if the name is short enough (39 octets).
///
/// `order` puts the length in bits into the hash's byte order. Most names are short enough; the general hasher's buffering costs as much as the hash itself. The block is stored in quarters, as
/// SHA-1 reads it ([`whole::quarter`]).
#[cfg(feature = "names")]
fn one_block(namespace: &Uuid, name: &[u8], order: fn(u64) -> u64) -> Option<[u8; 64]> {
    let octets = 16 + name.len();
    if octets > 55 {
        return None;
    }
    let (quarters, rest) = name.as_chunks();
    let end = number_of(rest) | 0x80 << (120 - 8 * rest.len());
    let length = u128::from(order(octets as u64 * 8));
    let mut block = [[0; 16]; 4];
    block[0] = *namespace.as_bytes();
    for (place, quarter) in block[1..].iter_mut().zip(quarters) {
        *place = *quarter;
    }
    if quarters.len() == 2 {
        block[3] = whole::quarter(end | length);
    } else {
        block[1 + quarters.len()] = whole::quarter(end);
        block[3] = whole::quarter(length);
    }
    block.as_flattened().first_chunk().copied()
}

/// Up to 15 octets as a number, the first one highest: from two pieces that overlap, which is the same as from one.
#[cfg(feature = "names")]
fn number_of(octets: &[u8]) -> u128 {
    let end = 128 - 8 * octets.len() as u32;
    if let (Some(first), Some(last)) = (octets.first_chunk(), octets.last_chunk()) {
        return u128::from(u64::from_be_bytes(*first)) << 64 | u128::from(u64::from_be_bytes(*last)) << end;
    }
    if let (Some(first), Some(last)) = (octets.first_chunk(), octets.last_chunk()) {
        return u128::from(u32::from_be_bytes(*first)) << 96 | u128::from(u32::from_be_bytes(*last)) << end;
    }
    let above = |number: u128, octet: &u8| number >> 8 | u128::from(*octet) << 120;
    octets.iter().rev().fold(0, above)
}

#[cfg(feature = "names")]
fn long_sha1(namespace: &Uuid, name: &[u8]) -> [u32; 4] {
    use sha1::{Digest, Sha1};
    let digest: [u8; 20] = Sha1::new()
        .chain_update(namespace.as_bytes())
        .chain_update(name)
        .finalize()
        .into();
    core::array::from_fn(|i| u32::from_be_bytes(digest.as_chunks().0[i]))
}

#[cfg(feature = "names")]
fn long_md5(namespace: &Uuid, name: &[u8]) -> [u8; 16] {
    use md5::{Digest, Md5};
    Md5::new()
        .chain_update(namespace.as_bytes())
        .chain_update(name)
        .finalize()
        .into()
}

/// RFC 1321 section 3.3.
#[cfg(feature = "names")]
const MD5_START: [u32; 4] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];

/// FIPS 180-4 section 5.3.1.
#[cfg(feature = "names")]
const SHA1_START: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_every_length_round_a_block_agree_with_the_general_hasher() {
        let name: [u8; 130] = core::array::from_fn(|at| at as u8 ^ 0xa5);
        for name in (0..name.len()).map(|length| &name[..length]) {
            let words = long_sha1(&Uuid::NAMESPACE_URL, name);
            let value = words
                .iter()
                .fold(0, |value, word| value << 32 | u128::from(*word));
            assert_eq!(
                uuid5(&Uuid::NAMESPACE_URL, name),
                stamp(value, 5),
                "{}",
                name.len()
            );
            let value = u128::from_be_bytes(long_md5(&Uuid::NAMESPACE_URL, name));
            assert_eq!(
                uuid3(&Uuid::NAMESPACE_URL, name),
                stamp(value, 3),
                "{}",
                name.len()
            );
        }
    }

    proptest! {
        #[test]
        fn the_short_way_agrees_with_the_general_hasher(namespace: u128, name in prop::collection::vec(any::<u8>(), 0..100)) {
            let namespace = Uuid::from_u128(namespace);
            let words = long_sha1(&namespace, &name);
            let value = words.iter().fold(0, |value, word| value << 32 | u128::from(*word));
            prop_assert_eq!(uuid5(&namespace, &name), stamp(value, 5));
            let value = u128::from_be_bytes(long_md5(&namespace, &name));
            prop_assert_eq!(uuid3(&namespace, &name), stamp(value, 3));
        }
    }
}
