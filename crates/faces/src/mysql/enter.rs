//! Logins: what a client shows, and who it turns out to be.

use super::answer::{Done, write_ok};
use super::capabilities::Capabilities;
use super::connection::{Connection, Entering, Next, Phase};
use super::greeting::{Nonce, Plugin, write_fast_login, write_switch};
use super::kill::Registered;
use super::login::{self, First, Login};
use super::packet::Packets;
use super::refusal::Refusal;
use mintage_server::chassis::auth::Identity;
use mintage_server::chassis::error::Code;
use mintage_server::chassis::noise::Noise;
use mintage_server::chassis::transport::Peer;
use mintage_server::chassis::{Protocols, faces};

/// Longer names of users are no names of tokens, and longer databases are cut.
const NAME_BYTES_MAX: usize = super::session::DATABASE_BYTES_MAX;

impl Connection {
    /// How a client shows its password unless it asks for another way.
    pub(super) fn plugin(&self) -> Plugin {
        match self.thread.service().tokens().required() {
            true => Plugin::CachingSha2,
            false => Plugin::Native,
        }
    }

    /// Whether TLS can begin here: there are certificates, and nobody listens on the way to a socket of this machine.
    pub(super) fn offers_tls(&self) -> bool {
        let certificates = self.thread.shared().tls.handshake(Protocols::Mysql);
        self.peer != Peer::Unix && certificates.is_some()
    }

    /// A packet before the first command.
    pub(super) async fn enter(&mut self, number: u8, payload: &[u8]) -> Next {
        if let Phase::Showing(_) = self.phase
            && let Phase::Showing(entering) = std::mem::replace(&mut self.phase, Phase::Login)
        {
            return self.shown(number, &entering, payload).await;
        }
        match login::first(payload) {
            First::Tls(_) if self.offers_tls() && !self.is_encrypted => Next::Tls,
            First::Login(login) => self.log_in(number, &login).await,
            First::Old if number == 1 => self.refuse(number, &Refusal::old_client()),
            First::Old | First::Broken | First::Tls(_) if number == 1 || self.is_encrypted => {
                self.refuse(number, &Refusal::bad_handshake())
            }
            _ => self.note_foreign(payload),
        }
    }

    async fn log_in(&mut self, number: u8, login: &Login<'_>) -> Next {
        let wants_tls = self.wants_tls
            || self
                .thread
                .config()
                .faces
                .get::<crate::mysql::Settings>()
                .require_tls;
        if wants_tls && !self.is_encrypted && self.peer != Peer::Unix {
            return self.refuse(number, &Refusal::wants_tls());
        }
        self.session.capabilities = login.capabilities.and(self.capabilities());
        let entering = self.entering(login);
        // Those that name none have one. MariaDB's own shows nothing yet where the greeting named another way than its user did.
        let waits = !has_password(login.reply) && login.plugin != self.plugin().name().as_bytes();
        let is_shown = login.plugin.is_empty() || login.plugin == entering.plugin.name().as_bytes() && !waits;
        match is_shown {
            true => self.shown(number, &entering, login.reply).await,
            false => self.ask(number, entering),
        }
    }

    /// A login, and the way by which this client shows its password in the end.
    fn entering(&self, login: &Login<'_>) -> Entering {
        let text = |bytes: &[u8]| -> Box<str> {
            let bytes = &bytes[..bytes.len().min(NAME_BYTES_MAX)];
            String::from_utf8_lossy(bytes).into()
        };
        let user = text(login.user);
        let plugin = match login.plugin {
            // Such a client cannot be asked for another one.
            b"" => Plugin::Native,
            named => self.plugin_of(&user, Plugin::named(named)),
        };
        Entering {
            user,
            database: text(login.database),
            plugin,
        }
    }

    /// The way a client named, if the token of its user has the digest for that, otherwise the one that it has. A user who is
    /// not known is asked as one whose token has the digest that tokens usually have: the answer does not tell them apart.
    fn plugin_of(&self, user: &str, named: Option<Plugin>) -> Plugin {
        let tokens = self.thread.service().tokens();
        if !tokens.required() {
            return named.unwrap_or(Plugin::Native);
        }
        let has_native = tokens.has_mysql(user, true);
        let is_native = match named {
            Some(Plugin::Native) => has_native,
            Some(Plugin::CachingSha2) | None => has_native && !tokens.has_mysql(user, false),
        };
        match is_native {
            true => Plugin::Native,
            false => Plugin::CachingSha2,
        }
    }

    /// Asks a client to show its password by a way that is known here, with fresh bytes.
    pub(super) fn ask(&mut self, number: u8, entering: Entering) -> Next {
        self.nonce = Nonce::new();
        let mut packets = Packets::new(&mut self.out, number.wrapping_add(1));
        write_switch(&mut packets, entering.plugin, &self.nonce);
        self.phase = Phase::Showing(entering);
        Next::Packet
    }

    /// Asks who a connection is from here on.
    pub(super) fn change_user(&mut self, number: u8, body: &[u8]) -> Next {
        let Some(login) = login::change_user(body, self.session.capabilities) else {
            let refusal = Refusal {
                ends_connection: true,
                ..Refusal::malformed()
            };
            return self.refuse(number, &refusal);
        };
        let entering = self.entering(&login);
        self.ask(number, entering)
    }

    /// A client has shown what it has.
    async fn shown(&mut self, number: u8, entering: &Entering, reply: &[u8]) -> Next {
        let Some(identity) = self.identify(entering, reply) else {
            return self.refuse_login(number, entering, has_password(reply)).await;
        };
        tracing::debug!(token = identity.name(), peer = %self.peer, "authenticated");
        self.session.reset();
        self.session.user = entering.user.clone();
        self.session.database = entering.database.clone();
        let registered = Registered::new(self.thread.shared(), self.session.id, identity.name());
        self.registered = Some(registered);
        self.session.identity = identity;
        self.multi_statements = self.session.capabilities.has(Capabilities::MULTI_STATEMENTS);
        self.phase = Phase::Commands;
        self.socket.watch().authenticated();
        self.thread.counters().face_answered(self.face, None, 1);
        let mut packets = Packets::new(&mut self.out, number.wrapping_add(1));
        // Whoever has no password hears OK at once.
        if entering.plugin == Plugin::CachingSha2 && has_password(reply) {
            write_fast_login(&mut packets);
        }
        let done = Done {
            status: self.session.status(),
            ..Done::default()
        };
        write_ok(&mut packets, done);
        Next::Packet
    }

    /// Who shows this: the holder of the token of his name, else whoever may come in without one.
    fn identify(&self, entering: &Entering, reply: &[u8]) -> Option<Identity> {
        let (tokens, face) = (self.thread.service().tokens(), faces::name(self.face));
        let (user, nonce) = (&entering.user, &self.nonce.0);
        // Some answer with a NUL behind it, or with a NUL alone where they have no password.
        let reply = match (entering.plugin, reply.len()) {
            (Plugin::Native, 21) | (Plugin::CachingSha2, 33) => &reply[..reply.len() - 1],
            _ => reply,
        };
        let holder = match entering.plugin {
            _ if !tokens.required() => None,
            Plugin::Native => tokens.by_native(user, nonce, reply, face),
            Plugin::CachingSha2 => tokens.by_caching_sha2(user, nonce, reply, face),
        };
        holder.or_else(|| self.before_a_word())
    }

    /// Answers a wrong token after a while, and ends the connection.
    #[cold]
    async fn refuse_login(&mut self, number: u8, entering: &Entering, has_password: bool) -> Next {
        let native = entering.plugin == Plugin::Native;
        let service = self.thread.service();
        if service.tokens().lacks_mysql(&entering.user, native) {
            let what = format!("{}: {}", entering.user, entering.plugin.name());
            service.log().note_sent(Noise::NoDigest, what, self.peer);
        }
        let delay = service.delay_of_wrong_token(self.peer);
        tokio::time::sleep(delay).await;
        self.count_refusal(Code::WrongToken);
        let refusal = Refusal::access_denied(&entering.user, &self.session.host, has_password);
        super::answer::write_error(&mut Packets::new(&mut self.out, number.wrapping_add(1)), &refusal);
        Next::Close
    }
}

/// Whether a client showed something: for no password it sends nothing, or a NUL alone.
fn has_password(reply: &[u8]) -> bool {
    !matches!(reply, b"" | b"\0")
}
