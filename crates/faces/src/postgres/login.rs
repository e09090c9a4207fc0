//! Who a client is: by what its connection shows, or by its token.

use std::rc::Rc;

use super::backend;
use super::cancel::Key;
use super::errors::{Severity, SqlError};
use super::execute::Client;
use super::frontend::Fields;
use super::leave;
use super::session::Session;
use super::startup::Start;
use super::variables::{ALLOW_REPEAT, Facts};
use mintage_server::chassis::auth::{Identity, Presented, Right, Scram, ScramError, What};
use mintage_server::chassis::config::FaceAuth;
use mintage_server::chassis::kept::Keeping;
use mintage_server::chassis::metrics::FaceId;
use mintage_server::chassis::thread::ServingThread;
use mintage_server::chassis::transport::Peer;
use mintage_server::chassis::{Protocols, faces};

/// What is known of a client before it has shown anything.
pub(super) struct Guest {
    pub(super) thread: Rc<ServingThread>,
    pub(super) peer: Peer,
    pub(super) face: FaceId,
    pub(super) presented: Rc<Presented>,
    pub(super) is_tls: bool,
    pub(super) is_unix: bool,
    /// Its address is one of TLS, which begins within the protocol: nothing else is served there.
    pub(super) wants_tls: bool,
}

impl Guest {
    /// Whether TLS can begin here: there are certificates, and nobody listens on the way to a socket of this machine.
    pub(super) fn offers_tls(&self) -> bool {
        let certificates = self.thread.shared().tls.handshake(Protocols::Postgres);
        !self.is_tls && !self.is_unix && certificates.is_some()
    }

    /// Whether nobody on the way can read what is sent.
    pub(super) fn is_private(&self) -> bool {
        let is_here = match self.peer {
            Peer::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Peer::Unix => true,
        };
        self.is_tls || is_here
    }
}

/// How a client shows who it is.
pub(super) enum Way {
    /// It has, or need not.
    Known(Identity),
    /// By its token as a password in clear.
    Password,
    /// By SCRAM, without saying its token; the mechanisms that are offered.
    Scram(&'static [u8]),
}

/// How this client is to show who it is.
///
/// # Errors
/// It cannot, on this connection.
pub(super) fn way(guest: &Guest, start: &Start) -> Result<Way, SqlError> {
    let config = guest.thread.config();
    let settings = &config.faces.get::<crate::postgres::Settings>();
    if (settings.require_tls || guest.wants_tls) && !guest.is_tls && !guest.is_unix {
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
    let by_name = tokens.has_scram(&start.user);
    if by_name || !guest.is_private() && tokens.offers_scram() {
        // A name that is not known is asked all the same, so that nobody learns which are.
        let bound = guest.is_tls && guest.thread.shared().tls.end_point().is_some();
        return Ok(Way::Scram(if bound { BOUND } else { UNBOUND }));
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

const BOUND: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
const UNBOUND: &[u8] = b"SCRAM-SHA-256\0\0";

/// Takes the first message of SCRAM: the exchange that it begins, and our answer.
///
/// # Errors
/// It is none.
pub(super) fn begin_scram(guest: &Guest, user: &str, body: &[u8]) -> Result<(Scram, Vec<u8>), SqlError> {
    let mut fields = Fields(body);
    let mechanism = fields.text()?;
    let length = usize::try_from(fields.int4()?).unwrap_or_default();
    let message = fields.bytes(length)?;
    fields.end()?;
    let end_point = guest.thread.shared().tls.end_point().filter(|_| guest.is_tls);
    Scram::begin(
        guest.thread.service().tokens(),
        user,
        faces::name(guest.face),
        mechanism.as_bytes(),
        message,
        end_point.as_deref(),
    )
    .map_err(|error| no_scram(error, user))
}

/// What SCRAM came to, in PostgreSQL's words.
pub(super) fn no_scram(error: ScramError, user: &str) -> SqlError {
    match error {
        ScramError::Wrong => wrong_token(user),
        ScramError::Protocol(why) => SqlError::fatal("08P01", "malformed SCRAM message").with_detail(why),
    }
}

/// The refusal of a wrong token.
pub(super) fn wrong_token(user: &str) -> SqlError {
    let user = super::errors::shown(user);
    SqlError::fatal(
        "28P01",
        format!("password authentication failed for user \"{user}\""),
    )
}

/// A client that is known, and the messages that tell it so.
///
/// # Errors
/// It asks for what it may not.
pub(super) async fn welcome(
    guest: &Guest,
    start: &Start,
    who: Identity,
    out: &mut Vec<u8>,
) -> Result<Client, SqlError> {
    if start.variables.is_on(ALLOW_REPEAT) {
        let set = leave::set(&guest.thread, (guest.face, guest.peer), &who, "on", || Ok(()));
        set.await.map_err(|error| SqlError {
            severity: Severity::Fatal,
            ..error
        })?;
    }
    let config = guest.thread.config();
    let version = &config.faces.get::<crate::postgres::Settings>().server_version.0;
    let facts = Facts {
        server_version: format!("{version} (Mintage {})", env!("CARGO_PKG_VERSION")).into(),
        user: start.user.as_str().into(),
        superuser: who.may(Right::Admin, What::Everything),
    };
    let keeping = Keeping::new(&guest.thread);
    let session = Session::new(facts, &start.database, start.variables.clone(), keeping);
    let session = session.map_err(|error| SqlError {
        severity: Severity::Fatal,
        ..error
    })?;
    let key = Key::new(guest.thread.shared(), guest.thread.connection_id());
    out.extend_from_slice(backend::AUTHENTICATION_OK);
    for (name, value) in start.variables.reported(&session.facts) {
        backend::parameter_status(out, name, &value);
    }
    backend::key_data(out, key.process, key.secret);
    backend::ready(out, b'I');
    tracing::debug!(token = who.name(), user = start.user, peer = %guest.peer, "authenticated");
    Ok(Client {
        thread: guest.thread.clone(),
        peer: guest.peer,
        face: guest.face,
        who,
        config,
        session,
        key,
        deadline: None,
    })
}
