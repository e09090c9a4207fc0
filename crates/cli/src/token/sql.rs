//! What clients of SQL log in by.

use std::path::Path;

use mintage_server::auth::{ScramVerifier, SqlVerifiers, TokenFile};
use serde_json::json;

use super::New;
use crate::errors::Failure;

/// The digests of a new token, as they stand in its line.
pub(super) fn digests(token: &str, new: &New, file: Option<&Path>) -> Result<String, Failure> {
    let made = SqlVerifiers::of(token.as_bytes(), salt(new, file)?, new.mysql_native);
    let digests = [
        ("scram", made.scram.map(|scram| scram.to_text())),
        ("mysql", made.mysql.map(|mysql| mysql.to_hex())),
        ("mysql_native", made.mysql_native.map(|native| native.to_hex())),
    ];
    let shown = digests
        .into_iter()
        .filter_map(|(key, digest)| Some((key, digest?)));
    Ok(shown
        .map(|(key, digest)| format!(", {key} = {}", json!(digest)))
        .collect())
}

/// That of the token which this one takes over from: while both are good, the server does not know which of them a client
/// holds, and can name one salt. Else a new one.
fn salt(new: &New, file: Option<&Path>) -> Result<[u8; 16], Failure> {
    let mut salt = [0; 16];
    mintage::fill_random(&mut salt);
    let there = match file {
        Some(file) if file.exists() => TokenFile(file.to_path_buf()).read().map_err(Failure::usage)?.0,
        _ => Vec::new(),
    };
    let same = there.iter().filter(|token| token.name == new.name);
    let known = same.filter_map(|token| token.sql.scram.as_ref().map(ScramVerifier::salt));
    Ok(known
        .filter_map(|salt| salt.try_into().ok())
        .next()
        .unwrap_or(salt))
}
