//! Who a client is: by what its connection shows, or by its token.

use super::backend;
use super::cancel::Key;
use super::errors::SqlError;
use super::execute::Client;
use super::session::Session;
use super::startup::Start;
use super::variables::Facts;
use crate::auth::{Identity, Right, What};
use crate::config::FaceAuth;
use crate::faces;
use crate::faces::postgres::connection::Guest;

/// How a client shows who it is.
pub(super) enum Way {
    /// It has, or need not.
    Known(Identity),
    /// By its token as a password in clear.
    Password,
}

/// How this client is to show who it is.
///
/// # Errors
/// It cannot, on this connection.
pub(super) fn way(guest: &Guest) -> Result<Way, SqlError> {
    let config = guest.thread.config();
    let settings = &config.faces.postgres;
    if settings.require_tls && !guest.is_tls && !guest.is_unix {
        let message = "this server takes connections with TLS alone";
        return Err(SqlError::fatal("28000", message).with_hint("connect with sslmode=require"));
    }
    let tokens = guest.thread.service().tokens();
    let shown = tokens.before_a_word(&guest.presented, faces::name(guest.face));
    if let Some(who) = shown {
        return Ok(Way::Known(who));
    }
    if settings.access.auth == FaceAuth::Open {
        return Ok(Way::Known(Identity::OPEN));
    }
    match guest.is_private() {
        true => Ok(Way::Password),
        false => {
            let message = "a password in clear is taken on this machine and over TLS alone";
            let hint = "connect with sslmode=require, or give the token a verifier for SCRAM (mint token new NAME --sql)";
            Err(SqlError::fatal("28000", message).with_hint(hint))
        }
    }
}

/// A client that is known, and the messages that tell it so.
pub(super) fn welcome(guest: &Guest, start: &Start, who: Identity, out: &mut Vec<u8>) -> Client {
    let config = guest.thread.config();
    let version = &config.faces.postgres.server_version.0;
    let facts = Facts {
        server_version: format!("{version} (Mintage {})", env!("CARGO_PKG_VERSION")).into(),
        user: start.user.as_str().into(),
        superuser: who.may(Right::Admin, What::Everything),
    };
    let key = Key::new(guest.thread.shared(), guest.thread.connection_id());
    out.extend_from_slice(backend::AUTHENTICATION_OK);
    for (name, value) in start.variables.reported(&facts) {
        backend::parameter_status(out, name, &value);
    }
    backend::key_data(out, key.process, key.secret);
    backend::ready(out, b'I');
    tracing::debug!(token = who.name(), user = start.user, peer = %guest.peer, "authenticated");
    Client {
        thread: guest.thread.clone(),
        peer: guest.peer,
        face: guest.face,
        who,
        config,
        session: Session {
            facts,
            database: start.database.as_str().into(),
            variables: start.variables.clone(),
            ..Session::default()
        },
        key,
        deadline: None,
    }
}
