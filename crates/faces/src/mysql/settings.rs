//! The settings of this face.

use mintage_server::chassis::config::{Bytes, Setting, quoted};
use mintage_server::face_settings;

face_settings! {
    "mysql" fits_main: false prefix: "";
    /// The largest statement or other command, in bytes.
    "max_request" max_request: Bytes = "64KiB" in 16_384 ..= 1_048_576;
    /// The step of every tag in `leaf_alloc`: how many numbers `UPDATE leaf_alloc SET max_id = max_id + step` reserves.
    "leaf_step" leaf_step: u64 = "1000" in 1 ..= 1_000_000;
    /// Refuse whoever logs in without TLS.
    "require_tls" require_tls: bool = "false";
    /// What the server calls itself, for clients that ask for more than `5.5.5-10.11.0-MariaDB-Mintage-X.Y.Z`; `SELECT VERSION()` leaves the `5.5.5-` out.
    "server_version" server_version: ServerVersion = "auto";
}

/// What the server calls itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerVersion(pub Option<String>);

impl ServerVersion {
    /// As it stands in the greeting.
    pub(crate) fn greeted(&self) -> &str {
        self.0.as_deref().unwrap_or(OWN)
    }

    /// As `SELECT VERSION()` answers it: clients take the beginning off, which is there for old ones alone.
    pub(crate) fn shown(&self) -> &str {
        let greeted = self.greeted();
        greeted.strip_prefix("5.5.5-").unwrap_or(greeted)
    }
}

/// MariaDB's, since clients that look for sequences look for MariaDB; behind it who this is.
const OWN: &str = concat!("5.5.5-10.11.0-MariaDB-Mintage-", env!("CARGO_PKG_VERSION"));

impl Setting for ServerVersion {
    const KIND: &'static str = "version such as 8.0.36, or auto";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(ServerVersion(None)),
            _ if is_version(text) => Ok(ServerVersion(Some(text.into()))),
            _ => Err(format!(
                "{text:?} is not a version: 1 to {VERSION_BYTES_MAX} printable characters that begin with a digit, or auto"
            )),
        }
    }

    fn show(&self) -> String {
        quoted(self.0.as_deref().unwrap_or("auto"))
    }
}

fn is_version(text: &str) -> bool {
    let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
    printable && text.len() <= VERSION_BYTES_MAX && text.starts_with(|first: char| first.is_ascii_digit())
}

/// The longest version, in bytes.
const VERSION_BYTES_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_begin_with_a_digit_and_old_prefixes_are_not_shown() {
        let auto = ServerVersion::parse("auto").unwrap();
        assert!(auto.greeted().starts_with("5.5.5-10.11.0-MariaDB-Mintage-"));
        assert!(auto.shown().starts_with("10.11.0-MariaDB-Mintage-"));
        assert_eq!(auto.show(), "\"auto\"");
        let other = ServerVersion::parse("8.0.36").unwrap();
        assert_eq!((other.greeted(), other.shown()), ("8.0.36", "8.0.36"));
        for wrong in ["", "x", "8 0", "8\0", &"8".repeat(61)] {
            assert!(ServerVersion::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
