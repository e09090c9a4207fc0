//! Addresses of networks.

use alloc::format;
use core::net::{Ipv4Addr, Ipv6Addr};

use super::{Foreign, Found};
use crate::format::Details;
use crate::time::Timestamp;

pub(super) const MAC: Foreign = Foreign {
    name: "mac",
    is: "a hardware address of 48 or 64 bits",
    source: "IEEE 802, EUI-48 and EUI-64",
    read: mac,
};

pub(super) const IPV4: Foreign = Foreign {
    name: "ipv4",
    is: "an address of the Internet, version 4",
    source: "RFC 791; RFC 6890 for what it is for",
    read: ipv4,
};

pub(super) const IPV6: Foreign = Foreign {
    name: "ipv6",
    is: "an address of the Internet, version 6",
    source: "RFC 4291; RFC 6890 for what it is for",
    read: ipv6,
};

fn mac(text: &str, _: Timestamp) -> Option<Found> {
    // 00:1b:44:11:3a:b7, 00-1b-…, or 001b.4411.3ab7.
    let (separator, width) = match text.as_bytes().get(2)? {
        b':' => (':', 2),
        b'-' => ('-', 2),
        _ => ('.', 4),
    };
    let mut octets = [0u8; 8];
    let mut count = 0;
    for group in text.split(separator) {
        if group.len() != width || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for pair in 0..width / 2 {
            *octets.get_mut(count)? = u8::from_str_radix(&group[2 * pair..2 * pair + 2], 16).ok()?;
            count += 1;
        }
    }
    if count != 6 && count != 8 {
        return None;
    }
    let first = octets[0];
    let of = match (first & 1, first & 2) {
        (1, _) => "a group",
        (_, 2) => "local, as virtual machines and phones have",
        _ => "one device",
    };
    let maker = format!("{:02x}:{:02x}:{:02x}", octets[0], octets[1], octets[2]);
    let details = Details::default()
        .text("maker", maker)
        .text("of", of)
        .number("bits", count as u64 * 8, 32);
    Some(Found::new(
        0.95,
        "six or eight octets in the punctuation of a hardware address",
        details,
    ))
}

fn ipv4(text: &str, _: Timestamp) -> Option<Found> {
    let address: Ipv4Addr = text.parse().ok()?;
    let [a, b, ..] = address.octets();
    let of = if address.is_loopback() {
        "loopback"
    } else if address.is_private() {
        "private"
    } else if address.is_link_local() {
        "link-local"
    } else if address.is_multicast() {
        "multicast"
    } else if address.is_broadcast() {
        "broadcast"
    } else if address.is_documentation() {
        "documentation"
    } else if a == 0 {
        "this network"
    } else if a == 100 && b >> 6 == 1 {
        "shared by a provider's customers"
    } else if a >= 240 {
        "reserved"
    } else {
        "global"
    };
    let details = Details::default()
        .text("scope", of)
        .number("number", u32::from(address).into(), 32);
    Some(Found::new(
        0.95,
        "four octets in decimal with dots between",
        details,
    ))
}

fn ipv6(text: &str, _: Timestamp) -> Option<Found> {
    let address: Ipv6Addr = text.parse().ok()?;
    let first = address.segments()[0];
    let of = if address.is_loopback() {
        "loopback"
    } else if address.is_unspecified() {
        "unspecified"
    } else if address.to_ipv4_mapped().is_some() {
        "an IPv4 address"
    } else if first & 0xfe00 == 0xfc00 {
        "unique local"
    } else if first & 0xffc0 == 0xfe80 {
        "link-local"
    } else if first & 0xff00 == 0xff00 {
        "multicast"
    } else if first == 0x2001 && address.segments()[1] == 0xdb8 {
        "documentation"
    } else if first >> 13 == 1 {
        "global"
    } else {
        "reserved"
    };
    let details = Details::default()
        .text("scope", of)
        .text("canonical", format!("{address}"));
    // Eight pairs of digits are rather an EUI-64.
    let confidence = if text.len() == 23 && text.as_bytes()[2] == b':' {
        0.5
    } else {
        0.95
    };
    Some(Found::new(
        confidence,
        "groups of hexadecimal digits with colons between",
        details,
    ))
}
