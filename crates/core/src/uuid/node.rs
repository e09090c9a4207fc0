//! The 48-bit node id of UUID versions 1, 2 and 6.

use core::fmt;
use core::net::Ipv4Addr;
use core::str::FromStr;

use super::UuidError;
use crate::Entropy;

/// The 48-bit node id of UUID versions 1, 2 and 6.
///
/// A node that is no hardware address carries the multicast bit, the lowest of its first octet, so that it
/// can never equal one (RFC 9562 section 6.10).
///
/// ```
/// use mintage::{Node, SystemEntropy};
/// let given: Node = "9f-6b-de-ce-d8-46".parse()?;
/// assert_eq!(given.to_string(), "9f:6b:de:ce:d8:46");
/// assert!(Node::random(&mut SystemEntropy).is_multicast());
/// # Ok::<(), mintage::UuidError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node([u8; 6]);

impl Node {
    /// A random node: 47 random bits and the multicast bit. The default everywhere.
    pub fn random(entropy: &mut (impl Entropy + ?Sized)) -> Self {
        let mut octets = [0; 6];
        entropy.fill(&mut octets);
        Self::not_hardware(octets)
    }

    /// These six octets as they are, for instance a hardware address.
    ///
    /// A hardware address in an id tells the world which machine made it, and machines that share one (clones,
    /// containers) repeat each other's ids.
    pub const fn from_octets(octets: [u8; 6]) -> Self {
        Node(octets)
    }

    /// A node from an IPv4 address: multicast bit, a zero octet, the address.
    ///
    /// Private addresses are unique only within their network.
    pub const fn from_ipv4(address: Ipv4Addr) -> Self {
        let [a, b, c, d] = address.octets();
        Node([1, 0, a, b, c, d])
    }

    /// A node from what identifies a host: the first six octets of the SHA-256 of `parts`, and the multicast
    /// bit (RFC 9562 section 6.10).
    ///
    /// Every part is preceded by its length, so that ("a", "bc") and ("ab", "c") differ. Cloned machines have
    /// equal fingerprints.
    #[cfg(feature = "names")]
    pub fn from_fingerprint(parts: &[&[u8]]) -> Self {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest: [u8; 32] = hash.finalize().into();
        Self::not_hardware(*digest.first_chunk().expect("32 octets hold six"))
    }

    /// The six octets.
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }

    /// Whether the multicast bit is set: this is no hardware address.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// The octets as the low 48 bits of a number.
    pub(crate) const fn bits(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    pub(crate) const fn from_bits(bits: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = bits.to_be_bytes();
        Node([a, b, c, d, e, f])
    }

    const fn not_hardware(mut octets: [u8; 6]) -> Self {
        octets[0] |= 1;
        Node(octets)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Node {
    type Err = UuidError;

    /// Reads six octets in hexadecimal, with `:` or `-` between all of them or nothing.
    fn from_str(text: &str) -> Result<Self, UuidError> {
        let bytes = text.as_bytes();
        let step = match bytes.len() {
            12 => 2,
            17 if matches!(bytes[2], b':' | b'-') => 3,
            _ => return Err(UuidError::Node),
        };
        let mut octets = [0; 6];
        for (i, group) in bytes.chunks(step).enumerate() {
            if step == 3 && i < 5 && group[2] != bytes[2] {
                return Err(UuidError::Node);
            }
            let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(UuidError::Node);
            octets[i] = (digit(group[0])? << 4 | digit(group[1])?) as u8;
        }
        Ok(Node(octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_spellings_are_read_and_nothing_else() {
        let node = Node::from_octets([0x9f, 0x6b, 0xde, 0xce, 0xd8, 0x46]);
        for text in ["9f:6b:de:ce:d8:46", "9F-6B-DE-CE-D8-46", "9f6bdeCED846"] {
            assert_eq!(text.parse(), Ok(node), "{text}");
        }
        for text in [
            "",
            "9f:6b:de:ce:d8",
            "9f:6b-de:ce:d8:46",
            "9f6bdeced84g",
            "+f:6b:de:ce:d8:46",
            "9f:6b:de:ce:d8:4é",
        ] {
            assert_eq!(text.parse::<Node>(), Err(UuidError::Node), "{text}");
        }
    }

    #[test]
    fn the_rfcs_random_example_gets_the_multicast_bit() {
        struct Rfc;
        impl Entropy for Rfc {
            fn fill(&mut self, out: &mut [u8]) {
                out.copy_from_slice(&[0x9e, 0x6b, 0xde, 0xce, 0xd8, 0x46]);
            }
        }
        assert_eq!(Node::random(&mut Rfc).to_string(), "9f:6b:de:ce:d8:46");
    }

    #[test]
    fn address_and_fingerprint_are_never_taken_for_hardware() {
        assert!(Node::from_ipv4(Ipv4Addr::new(10, 1, 2, 3)).is_multicast());
        assert!(Node::from_fingerprint(&[b"host"]).is_multicast());
        assert_ne!(
            Node::from_fingerprint(&[b"a", b"bc"]),
            Node::from_fingerprint(&[b"ab", b"c"])
        );
    }
}
