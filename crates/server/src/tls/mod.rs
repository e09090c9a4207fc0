//! TLS: the certificates that a server shows, and the handshake before a connection is served.
//!
//! | file | what |
//! | --- | --- |
//! | `files` | certificates and keys, read and judged |
//! | `current` | the ones that are shown now, read again when the files change |
//! | `names` | whom a client's certificate is for |
//! | `admission` | how long a client's certificate lets it in |
//! | `handshake` | from an accepted socket to one that a face can be given |
//! | `socket` | a connection with TLS, which ends with what let its client in |

mod admission;
mod current;
mod files;
mod handshake;
mod names;
mod socket;
#[cfg(test)]
mod tests;

pub(crate) use current::{Current, Handshake, Looked, expose, tell};
pub use files::{Checked, FileError, Files, check};
pub(crate) use handshake::{Shaken, shake};
pub(crate) use names::names_of;
pub(crate) use socket::TlsSocket;

/// The first byte of TLS: a record that holds a handshake (RFC 8446, section 5.1).
pub(crate) const HANDSHAKE: u8 = 0x16;

/// What a client is told that speaks TLS where none is spoken: a fatal alert, `unexpected_message` (RFC 8446, section 6).
pub(crate) const NOT_SPOKEN_HERE: [u8; 7] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x0a];

/// What to do about certificates that cannot be used.
pub(crate) const HINT: &str = "mint cert new makes a private authority and certificates for a trial";
