//! What every shared store must survive, as one suite over a real server: [`Engine`] is what a test brings, one
//! per kind of store.

use std::net::SocketAddr;

/// A private server of one kind that the suite may do anything to. It ends, and its folder goes, when dropped.
///
/// The suite calls [`Engine::url`] with the server's own address or with that of a proxy in front of it.
pub trait Engine: Send {
    /// The store's scheme: `postgres`, `redis`, …
    fn scheme(&self) -> &'static str;

    /// Where it listens: the same address for all its life, stops and kills included.
    fn address(&self) -> SocketAddr;

    /// The store's URL with credentials that may do everything, for a client that connects to `at`.
    fn url(&self, at: SocketAddr) -> String;

    /// The same with a wrong password, which is [`WRONG_PASSWORD`]; `None` where the server knows none.
    fn url_of_stranger(&self, at: SocketAddr) -> Option<String>;

    /// The same for an account that may read the registers and not write them; `None` where the server has no
    /// such thing. Its password, too, must not be printed: it is [`READER_PASSWORD`].
    fn url_of_reader(&self, at: SocketAddr) -> Option<String>;

    /// Ends the server cleanly and waits for its end.
    fn stop(&mut self);

    /// Ends all its processes with SIGKILL and waits for their end.
    fn kill(&mut self);

    /// Starts it again on the same data and address, and waits until it answers.
    fn start(&mut self);

    /// Stops all its processes with SIGSTOP: connections stay, nothing answers.
    fn freeze(&mut self);

    /// The opposite of [`Engine::freeze`].
    fn thaw(&mut self);

    /// Empties the store as an operator's mistake would (`FLUSHALL`, `TRUNCATE`): the server runs on, connections
    /// stay, what `mint init` and the stores wrote is gone.
    fn empty(&mut self);

    /// Writes another schema version where `mint init` wrote its own; the present one is [`SCHEMA_VERSION`].
    fn set_schema_version(&mut self, version: u32);

    /// Writes another cluster id where `mint init` wrote its own.
    fn set_cluster_id(&mut self, id: u128);
}

/// The schema version that this release makes in every shared store.
pub const SCHEMA_VERSION: u32 = 1;

/// A password that no account has, with characters that a URL must write percent-encoded. No text that the
/// product prints may contain it, in either form.
pub const WRONG_PASSWORD: &str = "wr0ng:p@ss/w%rd";

/// [`WRONG_PASSWORD`] as it stands in a URL.
pub const WRONG_PASSWORD_ENCODED: &str = "wr0ng%3Ap%40ss%2Fw%25rd";

/// The password of the account that may only read.
pub const READER_PASSWORD: &str = "re@der secret";

/// [`READER_PASSWORD`] as it stands in a URL.
pub const READER_PASSWORD_ENCODED: &str = "re%40der%20secret";

/// The password of the account that may do everything.
pub const OWNER_PASSWORD: &str = "0wner:s&cret?";

/// [`OWNER_PASSWORD`] as it stands in a URL.
pub const OWNER_PASSWORD_ENCODED: &str = "0wner%3As%26cret%3F";
