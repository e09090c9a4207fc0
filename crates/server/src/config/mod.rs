//! Configuration: defaults < `mint.toml` < environment < flags, out of one table of settings.
//!
//! Every setting is one row below: its path, type, default, range and words. The file, the environment
//! variable (`server.http.listen` is `MINT_SERVER__HTTP__LISTEN`), `mint config show`, the commented default
//! file and the reference page all come from that row.

mod access;
pub(crate) mod faces;
mod load;
mod own_table;
mod place;
mod reload;
pub(crate) mod row;
mod scripts;
mod sections;
mod sha1;
mod socket;
mod sources;
pub(crate) mod table;
pub(crate) mod value;
pub(crate) mod words;

use std::sync::LazyLock;
use std::time::Duration;

pub use access::WebOrigin;
pub use faces::{Access, Keys, Names, Prefix};
pub use ipnet::IpNet;
pub(crate) use load::edits;
pub use load::{ConfigError, Loaded, Origin, Override, Sources, load};
pub use own_table::own_table_line;
pub use reload::Reloaded;
pub use row::{Input, Row};
pub use scripts::{Called, Does, Machine, Script};
pub(crate) use sections::install;
pub use sections::{Faces, Section, SettingsOf};
pub use sha1::Sha1Digest;
pub use socket::{SocketMode, SocketOwner};
pub use sources::SourceUrls;
pub use value::{Auto, Bytes, ClusterId, Listen, LocalPath, NodeName, Off, Setting, StoreUrl};
pub use words::{ClientAuth, Expire, FaceAuth, LogFormat, LogLevel};

use mintage::ClockPolicy;

use crate::auth::{Token, TokenFile};
use crate::tls;
use crate::transport::Endpoint;

/// One setting: everything there is to know about it.
pub type Key = Row<Config>;

impl Row<Config> {
    /// Whether a running server takes a new value (SIGHUP); otherwise the next start does.
    pub fn is_reloaded(&self) -> bool {
        let limit = (self.path.starts_with("server.") || self.path.starts_with("faces."))
            && !FIXED.contains(&self.path)
            && !self.path.ends_with(".listen")
            && !self.path.ends_with(".max_request");
        limit
            || matches!(self.path, "auth.tokens" | "auth.token_file" | "log.level")
            || self.path.starts_with("audit.")
    }
}

/// What of the server is fixed at its start: what others know it by, its threads, its core dumps, the files of its
/// sockets, and the sizes of buffers that connections share; and where it listens, and the largest request of a face.
const FIXED: &[&str] = &[
    "server.name",
    "server.unix.mode",
    "server.unix.owner",
    "server.threads",
    "server.core_dumps",
    "server.http.max_header",
];

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $path:literal $field:ident: $type:ty = $default:literal $(in $low:literal ..= $high:literal)?;)*) => {
        /// A complete configuration. Every field is the setting of the same path.
        #[derive(Clone, PartialEq, Debug)]
        pub struct Config {
            $($(#[doc = $doc])+ pub $field: $type,)*
            /// The sections of the faces of other systems.
            pub faces: Faces,
        }

        impl Default for Config {
            fn default() -> Self {
                static DEFAULT: LazyLock<Config> = LazyLock::new(|| Config {
                    $($field: <$type as Setting>::parse($default).expect("a test reads every default"),)*
                    faces: Faces::default(),
                });
                DEFAULT.clone()
            }
        }

        /// Every setting, grouped by section, in the order of the documentation.
        pub fn keys() -> &'static [Key] {
            static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
                let mut keys = vec![
                    $(crate::row!(Config, $path, $field: $type = $default, [$($low, $high)?], concat!($($doc),+).trim_ascii_start()),)*
                ];
                keys.extend(sections::rows());
                keys
            });
            &KEYS
        }
    };
}

settings! {
    /// Listen on addresses other than loopback without tokens. Anyone who reaches the port can then take, move and drop numbers.
    "insecure" insecure: bool = "false";
    /// Counters elsewhere out of which sequences may take their numbers, a table `[sources.NAME]` for each with `url = "postgres://USER@HOST/DB"`, or with `url_file`, a file that holds the URL. A kind in front, as in `leaf+mysql://…`, means that kind alone. A table of your own stands in `[sources.NAME.tables.LABEL]`, with `table`, `key_column`, `column`, `means = "last"` or `"next"`, and `where`, a condition as SQL, if there is one.
    "sources" sources: SourceUrls = "";
    /// Where reservations are kept: `file:PATH` (one machine, durable), a shared store such as `postgres://USER@HOST/DB`, or `memory:` (tests; everything is lost). `file:` alone is the default folder, wherever a command is started: `$XDG_DATA_HOME/mint` if that is set, else `/var/lib/mint` for root and `~/.local/share/mint` for others.
    "store.url" store_url: StoreUrl = "file:";
    /// A set of stores instead, any one of which is enough: `mint store stripes make` makes one. In the environment, blanks between.
    "store.urls" store_urls: Vec<StoreUrl> = "";
    /// A file that holds the URL instead, or several with blanks between, which are a set: a password is then in no list of processes. `off` for none.
    "store.url_file" url_file: Off<LocalPath> = "off";
    /// The cluster id that a shared store must have, as `mint init` prints it; `auto` is the first one met there, remembered in `store.state_folder`.
    "store.cluster_id" cluster_id: Auto<ClusterId> = "auto";
    /// Whether a shared store may be used that can lose what it has acknowledged (class L). Windows are then short, and a failover skips numbers: see docs/cluster.md.
    "store.allow_lossy" allow_lossy: bool = "false";
    /// With `store.allow_lossy`: how many numbers of one name a server reserves per second at most. A failover skips what a hundred servers could have reserved since the store was last known to be complete.
    "store.max_rate" max_rate: u64 = "1000000" in 1000 ..= 1_000_000_000;
    /// How long one request to a shared store may take before its outcome counts as unknown. A store is usable while each of its answers takes less than a third of this.
    "store.request_timeout" request_timeout: Duration = "2s" in 50 ..= 60_000;
    /// How long a request waits for a connection to a shared store. Making one may take five times this, once for each round trip, and one that comes late is kept.
    "store.connect_timeout" connect_timeout: Duration = "2s" in 50 ..= 60_000;
    /// Whether the first use of a folder makes a store in it. Off in production, where `mint init` makes it: a volume that is not mounted is an empty folder.
    "store.create" store_create: bool = "true";
    /// Makes a store in a folder although this machine remembers one there that is gone. For one start: `mint serve --new`.
    "store.new" store_new: bool = "false";
    /// Where this machine remembers what a shared store was, what it owns there, and how far an embedded store got; `auto` is `$STATE_DIRECTORY`, else the user's state folder (`~/.local/state/mintage`).
    "store.state_folder" state_folder: Auto<LocalPath> = "auto";
    /// File systems that the store's folder and state files may be on although other machines or mounts could reach them at the same time, and locks may not hold: `fuse` (sshfs, s3fs, virtiofs, shared folders of Docker Desktop), `nfs`, `smb`, `9p`, `ceph` and the like. In the environment, commas between.
    "store.allow_file_systems" allow_file_systems: Vec<String> = "";
    /// Whether the first use of a name makes its sequence, or the pool that is asked for. Otherwise whatever a client's own protocol sends for it is refused (a first number, `SET`, CosId's `POST`): names come from `mint import`, `mint seq create`, `mint pool create`, their HTTP and gRPC, and SQL's `CREATE`.
    "sequences.auto_create" auto_create: bool = "true";
    /// With `sequences.auto_create`: how many names a new one is compared with, the ones made or used last. One that differs from another by a letter, or by its schema, case, quotes or separators, is logged as a warning; 0 for none.
    "sequences.near_names" near_names: u64 = "10000" in 0 ..= 1_000_000;
    /// How many sequences there may be.
    "sequences.max_sequences" max_sequences: u64 = "1000000" in 1 ..= 100_000_000;
    /// How many dropped names are remembered, so that their numbers never come again; above that, `DEL` is refused.
    "sequences.max_dropped" max_dropped: u64 = "1000000" in 1 ..= 100_000_000;
    /// How many names are held in memory; above that, those that were unused for the longest are dropped from memory, and read again when they are used.
    "sequences.max_loaded" max_loaded: u64 = "100000" in 100 ..= 100_000_000;
    /// A name that was not used for this long is dropped from memory.
    "sequences.idle_after" idle_after: Duration = "5m" in 1000 ..= 86_400_000;
    /// How many numbers one crash may lose, for sequences that do not say.
    "sequences.max_gap" max_gap: u64 = "100000" in 1 ..= 1_000_000_000;
    /// How long a sequence continues while its shared store is down, once its rate was steady for 10 s; `0s` for as long as the stock of the last second lasts.
    "sequences.outage_budget" outage_budget: Duration = "60s" in 0 ..= 86_400_000;
    /// Length of a worker's window of id-time, which is also how long it mints with its store down; `auto` follows from the layout.
    "pools.window" window: Auto<Duration> = "auto" in 1000 ..= 86_400_000;
    /// How far ids may run ahead of the clock.
    "pools.max_ahead" max_ahead: Duration = "5s" in 10 ..= 60_000;
    /// What pools without a policy of their own do when the clock goes back: `hold`, `wait(5ms)`, `error`, or `bump` where the layout has a rollback field.
    "clock.policy" clock_policy: ClockPolicy = "hold";
    /// How long a step of the clock must last before it is followed.
    "clock.confirm" clock_confirm: Duration = "60s" in 1000 ..= 3_600_000;
    /// The name of this server in stored records, which others show (`pending on NAME`); `auto` is the host's name and the process id.
    "server.name" server_name: Auto<NodeName> = "auto";
    /// Serving threads, each with its own listeners; `auto` is one fewer than the cores; one core stays free for the store and the kernel.
    "server.threads" threads: Auto<u64> = "auto" in 1 ..= 256;
    /// Let the system write a core dump if the server crashes. One holds whatever the memory does: tokens, passwords, keys.
    "server.core_dumps" core_dumps: bool = "false";
    /// How long a stop waits for requests that were read.
    "server.shutdown_timeout" shutdown_timeout: Duration = "10s" in 0 ..= 600_000;
    /// Connections at a time, all faces together.
    "server.max_connections" max_connections: u64 = "10000" in 1 ..= 1_000_000;
    /// Connections of one address at a time, or of one IPv6 network of 64 bits; `auto` is half of `max_connections`. Those of this machine count only if tokens are configured.
    "server.max_connections_per_address" max_connections_per_address: Auto<u64> = "auto" in 1 ..= 1_000_000;
    /// Connections of one face at a time, wherever it listens; `auto` is `max_connections`, so that a face may have them all.
    "server.max_connections_per_face" max_connections_per_face: Auto<u64> = "auto" in 1 ..= 1_000_000;
    /// If tokens are configured: how long a connection may stay open without showing one.
    "server.authentication_timeout" authentication_timeout: Off<Duration> = "5s" in 250 ..= 3_600_000;
    /// Wrong tokens after which a connection is closed.
    "server.max_wrong_tokens" max_wrong_tokens: u64 = "3" in 1 ..= 1000;
    /// How long a wrong token waits for its answer, times the number that its address has shown lately, 20 at most.
    "server.wrong_token_delay" wrong_token_delay: Duration = "100ms" in 0 ..= 10_000;
    /// Answers that are made and have not been read, of all connections together; those that have shown no token, where one is needed, have a sixteenth of it besides, for themselves. A large answer is made when there is room for it. Above that, the client that has waited longest is cut off.
    "server.max_unread" max_unread: Bytes = "64MiB" in 1_048_576 ..= 1_099_511_627_776;
    /// Memory kept from one request to the next for all connections together, whatever their faces: prepared statements, portals and the rows of cursors, commands behind `MULTI`, values sent ahead, settings, numbers taken. Above that, an error answers whatever would keep more; the first 8 KiB of each connection are granted in any case.
    "server.max_kept" max_kept: Bytes = "64MiB" in 65_536 ..= 1_099_511_627_776;
    /// The same, of one connection.
    "server.max_kept_per_connection" max_kept_per_connection: Bytes = "4MiB" in 16_384 ..= 1_099_511_627_776;
    /// Memory in which one thread remembers what texts of SQL mean, for PostgreSQL's clients and MySQL's each.
    "server.max_sql_cache" max_sql_cache: Bytes = "4MiB" in 65_536 ..= 1_099_511_627_776;
    /// Ids that one request may ask for.
    "server.max_count" max_count: u64 = "10000" in 1 ..= 1_000_000;
    /// How many ids one connection may take before others of its thread get their turn.
    "server.turn_ids" turn_ids: u64 = "2500" in 1 ..= 1_000_000_000;
    /// How many microseconds one connection may have before others of its thread get their turn.
    "server.turn_us" turn_us: u64 = "25" in 10 ..= 1_000_000;
    /// How many bytes of answers are sent to one connection before others of its thread get their turn.
    "server.turn_bytes" turn_bytes: Bytes = "32KiB" in 4096 ..= 1_073_741_824;
    /// How long a client may leave answers unread.
    "server.write_timeout" write_timeout: Duration = "10s" in 250 ..= 3_600_000;
    /// The certificates that are shown wherever a face listens at `tls:ADDRESS`, and to clients of SQL that ask for TLS at any address, a PEM file: the server's own, then those between it and its authority. Read again when it changes.
    "server.tls.cert" tls_cert: Off<LocalPath> = "off";
    /// The private key of the first of them, a PEM file that only the server can read.
    "server.tls.key" tls_key: Off<LocalPath> = "off";
    /// Authorities whose certificates clients may show, a PEM file; `off`: clients show none.
    "server.tls.client_ca" tls_client_ca: Off<LocalPath> = "off";
    /// With `server.tls.client_ca`: `require` refuses clients without a certificate, `optional` lets them in.
    "server.tls.client_auth" tls_client_auth: ClientAuth = "require";
    /// How long a client may take from connecting until TLS is agreed on.
    "server.tls.handshake_timeout" tls_handshake_timeout: Duration = "5s" in 250 ..= 60_000;
    /// Requests a second of one token, or of one address without a token; `off` for as many as can be answered. A token may have a rate of its own.
    "server.limits.requests_per_second" requests_per_second: Off<u64> = "off" in 1 ..= 1_000_000_000;
    /// The same for ids. A request may exceed it; those behind it are refused until that is made up for.
    "server.limits.ids_per_second" ids_per_second: Off<u64> = "off" in 1 ..= 1_000_000_000_000;
    /// How much of a rate may be used at once after a pause, as a time.
    "server.limits.burst" rate_burst: Duration = "1s" in 0 ..= 3_600_000;
    /// The mode of the files of unix sockets, in octal, such as `0660`; `auto` leaves it to the umask.
    "server.unix.mode" unix_mode: Auto<SocketMode> = "auto";
    /// Whose they are: `USER`, `USER:GROUP` or `:GROUP`, by name or number; `auto` leaves them to the server's own user.
    "server.unix.owner" unix_owner: Auto<SocketOwner> = "auto";
    /// Where HTTP listens: an address, `tls:ADDRESS`, `unix:PATH`, or `off` for nowhere.
    "server.http.listen" http_listen: Listen = "127.0.0.1:7600";
    /// Host names by which browsers may ask, besides `localhost` and addresses, where no token is needed; programs may use any name.
    "server.http.hosts" http_hosts: Vec<String> = "";
    /// Origins of web pages that may ask, such as `https://app.example.com`; where tokens are configured, a page needs one too. `*` is refused.
    "server.http.origins" http_origins: Vec<WebOrigin> = "";
    /// How long the head of a request may take from its first byte on, and its body again.
    "server.http.request_timeout" http_request_timeout: Duration = "5s" in 250 ..= 3_600_000;
    /// How long a connection may stay without a request.
    "server.http.idle_timeout" http_idle_timeout: Off<Duration> = "75s" in 250 ..= 86_400_000;
    /// Connections beyond `server.max_connections` that may ask for `/livez` and `/readyz` alone; one address may have a quarter of them.
    "server.http.health_connections" http_health_connections: u64 = "16" in 0 ..= 1000;
    /// The head of one request.
    "server.http.max_header" http_max_header: Bytes = "16KiB" in 8192 ..= 1_048_576;
    /// Header lines of one request.
    "server.http.max_headers" http_max_headers: u64 = "64" in 1 ..= 1000;
    /// The body of one request.
    "server.http.max_body" http_max_body: Bytes = "4KiB" in 256 ..= 1_048_576;
    /// A file that is sent to be audited; one is looked at at a time, and needs up to four times as much memory.
    "server.http.max_file" http_max_file: Bytes = "16MiB" in 256 ..= 1_073_741_824;
    /// Requests that one connection over HTTP/2 may have open at a time.
    "server.http.max_streams" http_max_streams: u64 = "100" in 1 ..= 10_000;
    /// Frames that are no request, such as SETTINGS and PING, which one connection over HTTP/2 may send within a minute without a request, a body or having been sent an answer in between; then it is closed: `ENHANCE_YOUR_CALM`.
    "server.http.max_idle_frames" http_max_idle_frames: u64 = "1000" in 10 ..= 1_000_000_000;
    /// Names that `/metrics` shows one by one: the busiest sequences, and as many pools.
    "server.http.metrics_names" metrics_names: u64 = "100" in 0 ..= 100_000;
    /// Where gRPC listens: `main` for our own port of HTTP, an address, `tls:ADDRESS`, `unix:PATH`, or `off` for nowhere.
    "server.grpc.listen" grpc_listen: Listen = "main";
    /// Where the Redis protocol listens: an address, `tls:ADDRESS`, `unix:PATH`, or `off` for nowhere.
    "server.resp.listen" resp_listen: Listen = "127.0.0.1:7601";
    /// How long a connection may stay without ever sending a byte.
    "server.resp.first_byte_timeout" resp_first_byte_timeout: Off<Duration> = "60s" in 250 ..= 86_400_000;
    /// How long the rest of a request may take once its beginning has arrived.
    "server.resp.request_timeout" resp_request_timeout: Duration = "10s" in 250 ..= 3_600_000;
    /// How long a connection may stay without a request once it has sent one.
    "server.resp.idle_timeout" resp_idle_timeout: Off<Duration> = "off" in 250 ..= 86_400_000;
    /// One whole request.
    "server.resp.max_request" resp_max_request: Bytes = "64KiB" in 4096 ..= 1_048_576;
    /// An inline request, or the line that declares a length.
    "server.resp.max_line" resp_max_line: Bytes = "4KiB" in 256 ..= 1_048_576;
    /// Arguments of one request, the command included.
    "server.resp.max_arguments" resp_max_arguments: u64 = "1024" in 8 ..= 65_536;
    /// One argument.
    "server.resp.max_argument" resp_max_argument: Bytes = "4KiB" in 512 ..= 1_048_576;
    /// Arguments of one request before authentication.
    "server.resp.unauthenticated_arguments" resp_unauthenticated_arguments: u64 = "8" in 8 ..= 65_536;
    /// One argument before authentication.
    "server.resp.unauthenticated_argument" resp_unauthenticated_argument: Bytes = "512B" in 64 ..= 1_048_576;
    /// Answers held for a client; nothing more is executed for it until it has read them.
    "server.resp.max_output" resp_max_output: Bytes = "256KiB" in 4096 ..= 1_073_741_824;
    /// The largest `INCRBY`, here, of idgo's clients, and of `LAST_INSERT_ID(id + n)`; by default as many numbers as are left.
    "server.resp.max_increment" resp_max_increment: u64 = "9223372036854775807" in 1 ..= 9_223_372_036_854_775_807;
    /// Sequences of which one connection remembers the last number it took, for `MINT.CURRVAL`; 0: of none.
    "server.resp.max_currval" resp_max_currval: u64 = "64" in 0 ..= 4096;
    /// What becomes of `EXPIRE`, of the expiry of `SET`, and of their kin, though numbers never expire: `refuse` answers an error, `ignore` answers as if it had been set.
    "server.resp.expire" resp_expire: Expire = "refuse";
    /// Spellings of the known scripts that are remembered by their SHA-1, for `EVALSHA`; above that, the one that was met first is forgotten, and clients send its text again.
    "server.resp.max_scripts" resp_max_scripts: u64 = "1000" in 1 ..= 1_000_000;
    /// Commands that one `MULTI` may queue.
    "server.resp.max_queued" resp_max_queued: u64 = "16384" in 1 ..= 1_048_576;
    /// Their arguments.
    "server.resp.max_queued_bytes" resp_max_queued_bytes: Bytes = "1MiB" in 4096 ..= 1_073_741_824;
    /// Names that `KEYS` may answer; beyond, it is refused and `SCAN` is the way.
    "server.resp.max_keys" resp_max_keys: u64 = "100000" in 1 ..= 10_000_000;
    /// Lua scripts and functions whose meaning is declared, since no Lua is run: `[{sha1 = "…", does = "incr"}]`, or `file = "next.lua"`, or `function = "nextid"`; `does` is incr, incrby, range, cosid_distribute, cosid_guard, cosid_revert, cosid_revert_stable, or one of snowflake, snowflake_text, icicle and seconds_partition with `pool`: docs/redis.md.
    "faces.scripts" scripts: Vec<Script> = "[]";
    /// Who may do what: `[{name = "web", sha256 = "…", may = ["allocate:orders.*", "read"]}]`; instead of `sha256`, `certificate` is a name of a client's certificate (a DNS name or an address; `uri:…` or `email:…`), and `uid` a user who comes through a unix socket; with `faces` it is good for these alone, with `until` it ends. `mint token new NAME` prints one: docs/access.md.
    "auth.tokens" tokens: Vec<Token> = "[]";
    /// A file of tokens alone, `tokens = [ … ]`, read again within seconds of a change; `mint token new NAME --file` adds to it. While it is named, clients need a token, even if it says `tokens = []`. Nobody but root and the server's user may be able to write to it, or to a folder above it.
    "auth.token_file" token_file: Off<LocalPath> = "off";
    /// The file of the audit trail: every administrative act as one JSON document a line, with who, from where, what, before, after and outcome; `off` for none.
    "audit.file" audit_file: Off<LocalPath> = "off";
    /// Whether a line is on disk before the act is answered.
    "audit.sync" audit_sync: bool = "false";
    /// The size at which it is renamed, and a new one begun.
    "audit.max_size" audit_max_size: Bytes = "64MiB" in 4096 ..= 1_099_511_627_776;
    /// How many of the renamed ones stay.
    "audit.keep" audit_keep: u64 = "10" in 0 ..= 10_000;
    /// How logs are written.
    "log.format" log_format: LogFormat = "text";
    /// The least severe records that are written: error, warn, info, debug or trace.
    "log.level" log_level: LogLevel = "info";
}

/// Checks that the faces which tokens name are there.
///
/// # Errors
/// The first that is not, and those that there are.
///
/// ```
/// use mintage_server::auth::read_tokens;
/// use mintage_server::config::check_faces;
/// let table: toml::Table = "tokens = [{ name = 'shop', uid = 1000, may = ['read'], faces = ['htp'] }]".parse()?;
/// let why = check_faces(&read_tokens(&table["tokens"])?).unwrap_err();
/// assert!(why.starts_with("token \"shop\": there is no face \"htp\": there are http, resp, grpc"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_faces(tokens: &[Token]) -> Result<(), String> {
    let config = Config::default();
    let foreign = config.faces.all().map(|(name, ..)| name);
    let faces: Vec<&str> = ["http", "resp", "grpc"].into_iter().chain(foreign).collect();
    for token in tokens {
        let mut named = token.faces.iter().flatten();
        if let Some(face) = named.find(|face| !faces.contains(&face.as_str())) {
            let (name, faces) = (&token.name, faces.join(", "));
            return Err(format!(
                "token {name:?}: there is no face {face:?}: there are {faces}"
            ));
        }
    }
    Ok(())
}

impl Config {
    /// Whether clients must show tokens: some are configured, or a file is named that may hold some.
    pub fn wants_tokens(&self) -> bool {
        !self.tokens.is_empty() || self.token_file.0.is_some()
    }

    /// The tokens of the configuration and of its file, and what to warn of.
    ///
    /// # Errors
    /// The file cannot be used, or a token is in both.
    pub fn all_tokens(&self) -> Result<(Vec<Token>, Option<String>), String> {
        let mut all = self.tokens.clone();
        let mut warning = None;
        if let Some(LocalPath(path)) = &self.token_file.0 {
            let (of_file, told) = TokenFile(path.clone()).read()?;
            for token in of_file {
                if let Some(same) = all.iter().find(|known| known.shows == token.shows) {
                    let path = path.display();
                    return Err(format!(
                        "{path}: token {:?} is listed twice: as {:?}, too",
                        token.name, same.name
                    ));
                }
                all.push(token);
            }
            warning = told;
        }
        check_faces(&all)?;
        Ok((all, warning))
    }

    /// The URL of the store, or those of its set.
    pub fn stores(&self) -> &[StoreUrl] {
        match self.store_urls.as_slice() {
            [] => std::slice::from_ref(&self.store_url),
            urls => urls,
        }
    }

    /// Checks what no single setting can: addresses against tokens.
    ///
    /// Returns what the operator should be warned of.
    ///
    /// # Errors
    /// A listener that others can reach without tokens, unless `insecure` is set.
    pub fn validate(&self) -> Result<Vec<String>, ConfigError> {
        let mut warnings = self.check_listeners()?;
        warnings.extend(self.check_certificates()?);
        warnings.extend(self.all_tokens().map_err(ConfigError::new)?.1);
        let url_file = self
            .url_file
            .0
            .iter()
            .map(|file| ("store.url_file".to_string(), file));
        let of_sources = self.sources.files();
        let of_sources = of_sources.map(|(name, file)| (format!("sources.{name}.url_file"), file));
        for (setting, file) in url_file.chain(of_sources) {
            load::check_trusted(&setting, &file.0)?;
            warnings.extend(load::readable_by_others(&setting, file));
        }
        self.sources.check().map_err(ConfigError::new)?;
        if let Some(owner) = &self.unix_owner.0 {
            let ids = owner.ids();
            ids.map_err(|why| ConfigError::new(format!("server.unix.owner: {why}")))?;
        }
        if let Some(LocalPath(file)) = &self.audit_file.0
            && let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty())
            && !folder.is_dir()
        {
            let (file, folder) = (file.display(), folder.display());
            return Err(ConfigError::new(format!(
                "audit.file = {file}: there is no folder {folder}"
            )));
        }
        if self.allow_lossy && !self.store_urls.is_empty() {
            return Err(ConfigError::new(
                "store.urls and store.allow_lossy do not go together: a store of a set must keep what it acknowledges",
            ));
        }
        let known = |name: &String| mintage_ledger::shared_file_systems().any(|known| known == name);
        if let Some(unknown) = self.allow_file_systems.iter().find(|name| !known(name)) {
            let all: Vec<_> = mintage_ledger::shared_file_systems().collect();
            return Err(ConfigError::new(format!(
                "store.allow_file_systems names {unknown:?}: there are {}",
                all.join(", ")
            )));
        }
        if self.resp_max_line > self.resp_max_request || self.resp_max_argument > self.resp_max_request {
            return Err(ConfigError::new(
                "server.resp.max_line and max_argument must not exceed server.resp.max_request",
            ));
        }
        Ok(warnings)
    }

    /// Whether a socket that a service manager passes to a face may be served, as an address of the configuration is judged.
    ///
    /// # Errors
    /// Others reach it without TLS and tokens, or it speaks TLS without a certificate.
    pub(crate) fn check_passed(&self, section: &str, endpoint: &Endpoint) -> Result<(), ConfigError> {
        let path = format!("{section}.listen");
        self.check_endpoint(&path, endpoint, self.access(&path)).map(drop)
    }

    /// Whether the certificates can be used.
    fn check_certificates(&self) -> Result<Vec<String>, ConfigError> {
        let wrong = |why: String| ConfigError::new(why).with_hint(tls::HINT);
        let Some(files) = tls::Files::of(self).map_err(wrong)? else {
            return Ok(Vec::new());
        };
        let checked = tls::check(&files).map_err(|error| wrong(error.to_string()))?;
        Ok(checked.warnings)
    }

    /// Whom the listeners can be reached by, and whether they go together.
    fn check_listeners(&self) -> Result<Vec<String>, ConfigError> {
        let mut warnings = Vec::new();
        let mut taken: Vec<(&str, &Endpoint)> = Vec::new();
        let listeners = || {
            keys()
                .iter()
                .filter_map(|key| Some((key.path, (key.listen)(self)?)))
        };
        for (path, listen) in listeners() {
            let access = self.access(path);
            if listen.main {
                self.check_main(path, access)?;
            }
            for endpoint in &listen.endpoints {
                let is_any_port = endpoint.tcp().is_some_and(|address| address.port() == 0);
                if let Some((other, _)) = taken.iter().find(|(_, one)| *one == endpoint && !is_any_port) {
                    return Err(
                        ConfigError::new(format!("{path} and {other} are both {endpoint}"))
                            .with_hint("give each face a port of its own, or set one of them off"),
                    );
                }
                taken.push((path, endpoint));
                warnings.extend(self.check_endpoint(path, endpoint, access)?);
            }
        }
        if taken.is_empty() {
            let own = listeners().filter(|(path, _)| self.access(path).is_none());
            let own = own.map(|(path, _)| path).collect::<Vec<_>>().join(" and ");
            return Err(ConfigError::new(format!(
                "{own} are all off: there is nothing to serve"
            )));
        }
        for (face, access, asked) in self.faces.all() {
            // A certificate or the user at the other end of a unix socket is shown before a word is said.
            let mut clear = access
                .listen
                .endpoints
                .iter()
                .filter(|at| matches!(at, Endpoint::Tcp(_)));
            if access.shuts_all_out(self.wants_tokens())
                && let Some(at) = clear.next()
            {
                warnings.push(format!(
                    "faces.{face}: its protocol has no place for a token, so that with tokens configured every connection to {at} is closed; let it listen at a unix socket or at tls:{at} for tokens with uid or certificate, or set faces.{face}.auth = \"open\""
                ));
            }
            if asked.create && access.auth == FaceAuth::Open && self.wants_tokens() {
                return Err(ConfigError::new(format!(
                    "faces.{face}.create and faces.{face}.auth = \"open\" do not go together: where tokens are configured, nobody creates without one"
                )));
            }
        }
        Ok(warnings)
    }

    /// Who may use the face of another system that listens where this setting says.
    fn access(&self, path: &str) -> Option<&Access> {
        let face = path.strip_prefix("faces.")?.strip_suffix(".listen")?;
        let found = self.faces.all().find(|(name, ..)| *name == face);
        found.map(|(_, access, _)| access)
    }

    fn check_main(&self, path: &str, access: Option<&Access>) -> Result<(), ConfigError> {
        let refuse = |why: &str| Err(ConfigError::new(format!("{path} = \"main\": {why}")));
        match access {
            Some(access) if !access.fits_main => {
                refuse("this face has no paths of its own, so it needs a port of its own")
            }
            // As unless told otherwise: there is then no port to share.
            None if path == "server.grpc.listen" => Ok(()),
            Some(_) if self.http_listen.is_off() => refuse("server.http.listen is off"),
            Some(_) => Ok(()),
            None => refuse("this is our own port: it needs an address"),
        }
    }

    /// Whether a face may listen there, and what to warn of.
    fn check_endpoint(
        &self,
        path: &str,
        endpoint: &Endpoint,
        access: Option<&Access>,
    ) -> Result<Option<String>, ConfigError> {
        if endpoint.is_tls() && self.tls_cert.0.is_none() {
            return Err(
                ConfigError::new(format!("{path} = {endpoint}: there is no certificate to show")).with_hint(
                    format!("name one with server.tls.cert and server.tls.key; {}", tls::HINT),
                ),
            );
        }
        match endpoint.is_local() {
            true => Ok(None),
            false => self.check_reachable(path, endpoint, access),
        }
    }

    /// What to warn of where others can reach a listener.
    fn check_reachable(
        &self,
        path: &str,
        endpoint: &Endpoint,
        access: Option<&Access>,
    ) -> Result<Option<String>, ConfigError> {
        let is_open = access.is_some_and(|access| access.auth == FaceAuth::Open);
        let is_limited = access.is_some_and(|access| !access.allow.is_empty());
        // Who has a certificate of the named authority is somebody.
        let shows_certificate = endpoint.is_tls()
            && self.tls_client_ca.0.is_some()
            && self.tls_client_auth == ClientAuth::Require;
        let is_known = shows_certificate || self.wants_tokens() && !is_open;
        let is_in_clear = !endpoint.is_tls();
        if is_known && !is_in_clear {
            return Ok(None);
        }
        if is_open && is_limited {
            return Ok(Some(format!(
                "{path} = {endpoint} asks for no token: whoever comes from the networks of allow can take numbers"
            )));
        }
        if self.insecure {
            return Ok(Some(match is_known {
                true => format!("{path} = {endpoint} has no TLS: tokens travel in clear"),
                false => {
                    format!("{path} = {endpoint} is open: anybody who reaches it can take and drop numbers")
                }
            }));
        }
        let face = path.strip_suffix(".listen").unwrap_or(path);
        let name = face.rsplit('.').next().unwrap_or_default();
        let flag = match access {
            Some(_) => format!("--face {name}"),
            None => format!("--{name}"),
        };
        let where_ = format!("{path} ({flag}) = {endpoint} is reachable by others");
        if is_known {
            let hint = format!(
                "listen on tls:{endpoint} with server.tls.cert and server.tls.key ({}), on 127.0.0.1 behind a proxy with TLS, or pass --insecure",
                tls::HINT
            );
            return Err(
                ConfigError::new(format!("{where_}, and in clear: tokens can be read on the way"))
                    .with_hint(hint),
            );
        }
        let why = match is_open {
            true => "and it asks for no tokens",
            false => "and no tokens are configured",
        };
        let ways = match access {
            Some(access) if !access.takes_tokens => format!(
                "one of two, since its protocol has no place for a token: {face}.auth = \"open\" with {face}.allow, or --insecure; or listen on 127.0.0.1"
            ),
            Some(_) => format!(
                "one of three: [auth] tokens with {face}.auth = \"token\" (mint token new NAME prints one), {face}.auth = \"open\" with {face}.allow, or --insecure; or listen on 127.0.0.1"
            ),
            None => {
                "add [auth] tokens (mint token new NAME prints one), listen on 127.0.0.1, or pass --insecure"
                    .into()
            }
        };
        Err(ConfigError::new(format!("{where_}, {why}")).with_hint(ways))
    }
}

/// The default file: every setting with its words, commented out. What `mint config init` prints.
pub fn default_file() -> String {
    let mut text = String::from(
        "# mint.toml. Every line that begins with a name shows the default; remove the \"# \" to change it.\n\
         # The environment and the flags of the command stand above this file.\n",
    );
    let mut section = "";
    for key in keys() {
        let (group, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
        if group != section {
            text.push_str(&format!("\n[{group}]\n"));
            section = group;
        }
        let range = key
            .range
            .as_ref()
            .map(|(low, high)| format!(" {low} to {high}."))
            .unwrap_or_default();
        text.push_str(&format!(
            "\n# {}{range}\n# {name} = {}\n",
            key.doc,
            (key.show)(&Config::default())
        ));
    }
    text
}

/// The reference page: a Markdown table of every setting.
pub fn reference() -> String {
    let mut text = String::from(
        "| setting | environment | type | default | range | SIGHUP | meaning |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for key in keys() {
        let range = key
            .range
            .as_ref()
            .map(|(low, high)| format!("{low} to {high}"))
            .unwrap_or_default();
        text.push_str(&format!(
            "| `{}` | `{}` | {} | `{}` | {range} | {} | {} |\n",
            key.path,
            key.environment(),
            key.kind,
            (key.show)(&Config::default()),
            if key.is_reloaded() { "yes" } else { "" },
            key.doc,
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_readable_and_valid() {
        assert_eq!(Config::default().validate(), Ok(vec![]));
    }

    #[test]
    fn the_default_file_says_what_the_code_does() {
        let uncommented: String = default_file()
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest)
                    if rest
                        .split_once(" = ")
                        .is_some_and(|(name, _)| !name.contains(' ')) =>
                {
                    format!("{rest}\n")
                }
                _ => format!("{line}\n"),
            })
            .collect();
        let table: toml::Table = uncommented.parse().expect("the file is TOML");
        let loaded = load::from_table(&table).expect("every line is a setting");
        assert_eq!(loaded, Config::default());
        let given = keys().iter().filter(|key| {
            let (_, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
            uncommented
                .lines()
                .any(|line| line.starts_with(&format!("{name} = ")))
        });
        assert_eq!(given.count(), keys().len());
    }

    #[test]
    fn the_environment_has_the_fixed_names() {
        let name = |path: &str| keys().iter().find(|k| k.path == path).map(Key::environment);
        assert_eq!(name("store.url").as_deref(), Some("MINT_STORE__URL"));
        assert_eq!(
            name("server.http.listen").as_deref(),
            Some("MINT_SERVER__HTTP__LISTEN")
        );
        assert_eq!(
            name("server.resp.listen").as_deref(),
            Some("MINT_SERVER__RESP__LISTEN")
        );
        assert_eq!(name("insecure").as_deref(), Some("MINT_INSECURE"));
    }

    #[test]
    fn sections_are_contiguous() {
        let mut seen: Vec<&str> = Vec::new();
        for key in keys() {
            let group = key.path.rsplit_once('.').map_or("", |(group, _)| group);
            if seen.last() != Some(&group) {
                assert!(!seen.contains(&group), "[{group}] stands twice");
                seen.push(group);
            }
        }
    }

    fn any_token() -> Token {
        Token {
            name: "a".into(),
            shows: crate::auth::Proof::Digest(crate::auth::TokenDigest::of(b"t")),
            may: vec![],
            faces: None,
            until: None,
            rates: crate::rates::Rates::default(),
            sql: Default::default(),
        }
    }

    #[test]
    fn addresses_that_others_reach_need_tokens_or_insecure() {
        let open = Listen::parse("0.0.0.0:7600").unwrap();
        let config = Config {
            http_listen: open,
            ..Config::default()
        };
        let error = config.validate().unwrap_err();
        assert!(
            error
                .message
                .contains("server.http.listen (--http) = 0.0.0.0:7600"),
            "{error}"
        );
        assert!(error.hint.unwrap().contains("--insecure"));
        let insecure = Config {
            insecure: true,
            ..config.clone()
        };
        assert!(insecure.validate().unwrap()[0].contains("is open"));
        let token = any_token();
        // With a token it is somebody, whose token can be read on the way: TLS, or a clear word.
        let with_token = Config {
            tokens: vec![token],
            ..config
        };
        let error = with_token.validate().unwrap_err();
        assert!(error.message.contains("in clear"), "{error}");
        assert!(error.hint.unwrap().contains("tls:0.0.0.0:7600"));
        let insecure = Config {
            insecure: true,
            ..with_token.clone()
        };
        assert!(insecure.validate().unwrap()[0].contains("in clear"));
        let without_certificate = Config {
            http_listen: Listen::parse("tls:0.0.0.0:7600").unwrap(),
            ..with_token
        };
        let error = without_certificate.validate().unwrap_err();
        assert!(error.message.contains("no certificate to show"), "{error}");
    }

    #[test]
    fn a_server_without_faces_is_refused() {
        let config = Config {
            http_listen: Listen::OFF,
            resp_listen: Listen::OFF,
            ..Config::default()
        };
        assert!(config.validate().is_err());
    }
}
