//! Readers of messages and texts without a connection, for fuzzing.

use super::frontend::{About, Bind, Parse, read_execute, read_query};
use super::startup::{self, Packet};
use super::types::{Formats, read_parameter};
use mintage_server::chassis::config::Keys;

/// Reads whatever a body is; the SQLSTATE where it is refused.
///
/// # Errors
/// The SQLSTATE of the refusal.
pub fn read_body(kind: u8, body: &[u8]) -> Result<(), &'static str> {
    let read = match kind {
        b'P' => Parse::read(body).map(|parse| drop(parse.types().collect::<Vec<_>>())),
        b'B' => Bind::read(body).and_then(|bind| {
            let formats = Formats::of_codes(bind.formats, bind.parameter_count, "parameter")?;
            for (at, bytes) in bind.parameters().enumerate() {
                // Each type in turn.
                let oid = [20, 23, 21, 25, 16, 2950, 26, 2205, 0][at % 9];
                read_parameter(bytes, oid, formats.is_binary(at))?;
            }
            Ok(())
        }),
        b'D' | b'C' => About::read(body, "DESCRIBE").map(drop),
        b'E' => read_execute(body).map(drop),
        _ => read_query(body).map(drop),
    };
    read.map_err(|refusal| refusal.state)
}

/// Reads what comes before a login; what it is, or the SQLSTATE where it is refused.
///
/// # Errors
/// The SQLSTATE of the refusal.
pub fn read_start(input: &[u8]) -> Result<&'static str, &'static str> {
    match startup::read(input) {
        Packet::Incomplete => Ok("incomplete"),
        Packet::Foreign => Ok("foreign"),
        Packet::Tls { .. } | Packet::Gss { .. } => Ok("encryption"),
        Packet::Cancel { .. } => Ok("cancel"),
        Packet::Start { version, body, .. } => match startup::start(version, body) {
            Ok(_) => Ok("start"),
            Err(refusal) => Err(refusal.state),
        },
    }
}

/// Reads a text as statements: how many; the SQLSTATE and the place where it is refused.
///
/// # Errors
/// The SQLSTATE of the refusal, and its place in bytes.
pub fn read_statements(text: &str) -> Result<usize, (&'static str, Option<usize>)> {
    let read = super::grammar::parse(text, &Keys::default());
    read.map(|all| all.len())
        .map_err(|refusal| (refusal.state, refusal.at))
}
