//! The server's first packet, and the fresh bytes that passwords are shown with.

use super::capabilities::{Capabilities, status};
use super::packet::Packets;

/// The bytes that a client mixes with its password: without NUL, where they would end, and without `$`, at which MariaDB's
/// tools cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonce(pub [u8; 20]);

impl Nonce {
    /// New ones.
    pub fn new() -> Nonce {
        let mut bytes = [0; 20];
        mintage::fill_random(&mut bytes);
        // 7 bits each, as the original draws them; 2 of 128 are another one's.
        Nonce(bytes.map(|byte| match byte & 0x7f {
            0 | b'$' => b'1',
            byte => byte,
        }))
    }
}

impl Default for Nonce {
    fn default() -> Self {
        Nonce::new()
    }
}

/// How a client shows its password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plugin {
    /// By SHA-1.
    Native,
    /// By SHA-256.
    CachingSha2,
}

impl Plugin {
    const ALL: [Plugin; 2] = [Plugin::Native, Plugin::CachingSha2];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The one of this name.
    pub fn named(name: &[u8]) -> Option<Plugin> {
        Plugin::ALL
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }
}

/// What a greeting tells.
#[derive(Clone, Copy, Debug)]
pub struct Greeting<'g> {
    /// What the server calls itself.
    pub version: &'g str,
    /// The connection's number.
    pub id: u64,
    /// The bytes for this login.
    pub nonce: &'g Nonce,
    /// What the server can do.
    pub capabilities: Capabilities,
    /// How a client shows its password unless it asks for another way.
    pub plugin: Plugin,
}

impl Greeting<'_> {
    /// Appends it as a packet.
    pub fn write(&self, out: &mut Vec<u8>) {
        let low_high = |bits: u32| (bits as u16, (bits >> 16) as u16);
        let (low, high) = low_high(self.capabilities.0);
        Packets::new(out, 0).write(|out| {
            out.push(PROTOCOL);
            out.extend_from_slice(self.version.as_bytes());
            out.push(0);
            // Clients show these four bytes alone, and KILL takes them.
            out.extend_from_slice(&(self.id as u32).to_le_bytes());
            out.extend_from_slice(&self.nonce.0[..8]);
            out.push(0);
            out.extend_from_slice(&low.to_le_bytes());
            out.push(CHARSET);
            out.extend_from_slice(&status::AUTOCOMMIT.to_le_bytes());
            out.extend_from_slice(&high.to_le_bytes());
            out.push(NONCE_BYTES);
            // Six bytes of nothing, and MariaDB's own capabilities: none.
            out.extend_from_slice(&[0; 10]);
            out.extend_from_slice(&self.nonce.0[8..]);
            out.push(0);
            out.extend_from_slice(self.plugin.name().as_bytes());
            out.push(0);
        });
    }
}

/// The version of the protocol.
const PROTOCOL: u8 = 10;
/// `utf8mb4_general_ci`.
pub const CHARSET: u8 = 45;
/// With the NUL behind them.
const NONCE_BYTES: u8 = 21;

/// Asks a client to show its password another way, or anew: with fresh bytes.
pub fn write_switch(packets: &mut Packets<'_>, plugin: Plugin, nonce: &Nonce) {
    packets.write(|out| {
        out.push(0xfe);
        out.extend_from_slice(plugin.name().as_bytes());
        out.push(0);
        out.extend_from_slice(&nonce.0);
        out.push(0);
    });
}

/// Tells a client of `caching_sha2_password` that its short answer was enough; OK follows.
pub fn write_fast_login(packets: &mut Packets<'_>) {
    packets.write(|out| out.extend_from_slice(&[1, 3]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_is_the_one_of_a_mariadb_without_extras() {
        let mut out = Vec::new();
        let greeting = Greeting {
            version: "5.5.5-x",
            id: 7,
            nonce: &Nonce(*b"abcdefghijklmnopqrst"),
            capabilities: Capabilities::OURS,
            plugin: Plugin::Native,
        };
        greeting.write(&mut out);
        let expected = [
            &b"\x4b\0\0\0\x0a5.5.5-x\0\x07\0\0\0abcdefgh\0"[..],
            &b"\x0e\xa3\x2d\x02\0\x3f\0\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0"[..],
        ];
        assert_eq!(
            out.escape_ascii().to_string(),
            expected.concat().escape_ascii().to_string()
        );
    }

    #[test]
    fn nonces_have_neither_nul_nor_dollar_and_differ() {
        let (one, other) = (Nonce::new(), Nonce::new());
        assert_ne!(one, other);
        for _ in 0..200 {
            assert!(
                Nonce::new()
                    .0
                    .iter()
                    .all(|byte| (1..=127).contains(byte) && *byte != b'$')
            );
        }
    }
}
