//! The settings of this face.

use mintage_server::chassis::config::{Bytes, Setting, quoted};
use mintage_server::face_settings;

face_settings! {
    "postgres" fits_main: false prefix: "";
    /// What clients are told as `server_version`: `17.0`, with our own version behind it. Some refuse what is older than they like.
    "server_version" server_version: Version = "17.0";
    /// The longest message, and so the longest statement.
    "max_request" max_request: Bytes = "64KiB" in 1024 ..= 1_048_576;
    /// Refuse whoever logs in without TLS.
    "require_tls" require_tls: bool = "false";
}

/// A version of PostgreSQL: `MAJOR[.MINOR]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version(pub String);

impl Setting for Version {
    const KIND: &'static str = "version of PostgreSQL";

    fn parse(text: &str) -> Result<Self, String> {
        let number =
            |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        let parts: Vec<&str> = text.split('.').collect();
        match parts.len() <= 2 && parts.iter().all(|part| number(part)) {
            true => Ok(Version(text.to_string())),
            false => Err(format!("{text:?} is not MAJOR or MAJOR.MINOR, such as \"17.0\"")),
        }
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_one_or_two_numbers() {
        for right in ["14", "17.0", "9.6"] {
            assert_eq!(
                Version::parse(right).map(|version| version.0).as_deref(),
                Ok(right)
            );
        }
        for wrong in ["", "17.", "17.0.1", "seventeen", "17.0 (x)"] {
            assert!(Version::parse(wrong).unwrap_err().contains("17.0"), "{wrong}");
        }
    }
}
