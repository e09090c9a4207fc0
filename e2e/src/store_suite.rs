//! What every shared store must survive, as one suite over a real server: [`Engine`] is what a test brings, one
//! per kind of store.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mintage_ledger::{
    Advice, BoxFuture, Cas, Claim, Class, Key, Ledger, LedgerError, LedgerSettings, Marks, Name, Outcome,
    PoolKind, PoolSpec, Runtime, Store, StoreError, StoreErrorKind, StoreSettings, SystemRuntime, Value,
    Version, Versioned, conformance, init_store, open_store,
};
use mintage_testing::{invariant, no_secret_in, violated};

use crate::engine::process::{Daemon, freeze_tree};
use crate::proxy::{Fault, Proxy};
use crate::run;

/// A private server of one kind that the suite may do anything to. It ends, and its folder goes, when dropped.
///
/// The suite calls [`Engine::url`] with the server's own address or with that of a proxy in front of it.
pub trait Engine: Send {
    /// The store's scheme: `postgres`, `redis`, …
    fn scheme(&self) -> &'static str;

    /// Where it listens: the same address for all its life, stops and kills included.
    fn address(&self) -> SocketAddr;

    /// The store's URL for a client that connects to `at` with these credentials.
    fn url_with(&self, account: &str, password_encoded: &str, at: SocketAddr) -> String {
        format!(
            "{}://{account}:{password_encoded}@{at}{}",
            self.scheme(),
            self.database()
        )
    }

    /// The last part of the URL, where it has one.
    fn database(&self) -> &'static str {
        ""
    }

    /// The store's URL with credentials that may do everything.
    fn url(&self, at: SocketAddr) -> String {
        self.url_with("mint", OWNER_PASSWORD_ENCODED, at)
    }

    /// The same with a wrong password, which is [`WRONG_PASSWORD`]; `None` where the server knows none.
    fn url_of_stranger(&self, at: SocketAddr) -> Option<String> {
        Some(self.url_with("mint", WRONG_PASSWORD_ENCODED, at))
    }

    /// The same for an account that may read the registers and not write them; `None` where the server has no
    /// such thing. Its password, too, must not be printed: it is [`READER_PASSWORD`].
    fn url_of_reader(&self, at: SocketAddr) -> Option<String> {
        Some(self.url_with("reader", READER_PASSWORD_ENCODED, at))
    }

    /// Its process.
    fn process(&mut self) -> &mut Daemon;

    /// Ends the server cleanly and waits for its end.
    fn stop(&mut self) {
        self.process().stop();
    }

    /// Ends all its processes with SIGKILL and waits for their end.
    fn kill(&mut self) {
        self.process().kill();
    }

    /// Starts it again on the same data and address, and waits until it answers.
    fn start(&mut self);

    /// Stops all its processes with SIGSTOP: connections stay, nothing answers.
    fn freeze(&mut self) {
        if let Some(pid) = self.process().pid() {
            freeze_tree(pid);
        }
    }

    /// The opposite of [`Engine::freeze`].
    fn thaw(&mut self) {
        self.process().signal("CONT");
    }

    /// Empties the store as an operator's mistake would (`FLUSHALL`, `TRUNCATE`): the server runs on, connections
    /// stay, what `mint init` and the stores wrote is gone.
    fn empty(&mut self);

    /// Where all its data is.
    fn data_folder(&self) -> PathBuf;

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

/// One `#[test]` per claim of [`cases`]. The expressions give an `Option<impl Engine>`, `None` where the server is absent:
/// the first one a server of the test's own, the second one a server that is neither ended nor frozen, and may be borrowed.
#[macro_export]
macro_rules! store_suite {
    ($own:expr, $used:expr) => {
        $crate::store_suite!(@each $own;
            a_refused_connection_is_certainly_not_done
            a_frozen_server_holds_nobody_longer_than_allowed
            a_restarted_server_is_found_again
            a_killed_server_keeps_what_it_acknowledged
        );
        $crate::store_suite!(@each $used;
            passes_every_check_of_the_conformance_suite
            only_init_makes_schema_and_cluster_id
            a_cut_before_the_request_changes_nothing
            a_lost_answer_is_an_unknown_outcome
            slow_answers_are_awaited_as_long_as_allowed
            two_nodes_never_claim_the_same
            a_dropped_pool_is_a_tombstone_that_keeps_layout_and_windows
            a_wrong_password_is_refused_and_never_printed
            missing_rights_are_named_and_change_nothing
            a_foreign_cluster_is_refused_and_stops_a_running_node
            an_emptied_store_is_refused_and_stops_a_running_node
            another_schema_is_refused
        );
    };
    (@each $start:expr; $($case:ident)*) => {
        $(
            #[test]
            fn $case() {
                if let Some(engine) = $start {
                    $crate::store_suite::cases::$case($crate::store_suite::Lab::new(engine));
                }
            }
        )*
    };
}

/// A server, a proxy in front of it, and a runtime to use a store from.
#[derive(Debug)]
pub struct Lab<E: Engine> {
    /// The server.
    pub engine: E,
    /// In front of the server; passes everything at first.
    pub proxy: Proxy,
    tokio: tokio::runtime::Runtime,
}

impl<E: Engine> Lab<E> {
    /// Puts a proxy in front of a server.
    ///
    /// # Panics
    /// When no thread can be had.
    pub fn new(engine: E) -> Lab<E> {
        let proxy = Proxy::to(engine.address());
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads can be had");
        Lab { engine, proxy, tokio }
    }

    /// Runs a future to its end.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.tokio.block_on(future)
    }

    /// The world as the ledger sees it.
    pub fn runtime(&self) -> Arc<dyn Runtime> {
        SystemRuntime::new(self.tokio.handle().clone())
    }

    /// The store's URL without the proxy.
    pub fn direct(&self) -> String {
        self.engine.url(self.engine.address())
    }

    /// The store's URL through the proxy.
    pub fn proxied(&self) -> String {
        self.engine.url(self.proxy.address())
    }

    /// Makes schema and cluster id, and answers the latter.
    ///
    /// # Panics
    /// When the store refuses.
    #[track_caller]
    pub fn init(&self) -> u128 {
        let made = self.wait(init_store(&self.direct(), &patient(), self.runtime()));
        made.expect("init works").cluster_id
    }

    /// Opens a store with [`patient`] settings.
    ///
    /// # Panics
    /// When it refuses.
    #[track_caller]
    pub fn open(&self, url: &str) -> Arc<dyn Store> {
        self.open_with(url, &patient()).expect("the store opens")
    }

    /// Opens a store with [`restless`] settings.
    ///
    /// # Panics
    /// When it does not within a minute.
    pub fn open_restless(&self, url: &str) -> Arc<dyn Store> {
        let settings = restless();
        self.wait(until_ok(|| open_store(url, &settings, self.runtime())))
    }

    /// Opens a store.
    ///
    /// # Errors
    /// What it refuses.
    pub fn open_with(&self, url: &str, settings: &StoreSettings) -> Result<Arc<dyn Store>, StoreError> {
        self.wait(open_store(url, settings, self.runtime()))
    }

    /// What a refused opening says.
    ///
    /// # Panics
    /// When it opens.
    #[track_caller]
    pub fn refused(&self, url: &str, settings: &StoreSettings) -> StoreError {
        match self.open_with(url, settings) {
            Ok(store) => panic!("{store:?} opened"),
            Err(error) => {
                assert_eq!(error.outcome, Outcome::NotDone, "{error:?}");
                error
            }
        }
    }

    /// What a register holds, as seen without the proxy.
    ///
    /// # Panics
    /// When it cannot be read.
    #[track_caller]
    pub fn held(&self, key: &Key) -> Option<Versioned> {
        let store = self.open(&self.direct());
        let found = self.wait(async { store.get(key).await });
        self.wait(async { store.close().await }).ok();
        found.expect("the server answers")
    }
}

/// Makes one store of several, as an operator does: what `--store` then takes.
///
/// # Panics
/// When a store is refused.
pub fn make_set(folder: &Path, engines: &[&dyn Engine]) -> String {
    let urls: Vec<String> = engines
        .iter()
        .map(|engine| engine.url(engine.address()))
        .collect();
    for url in &urls {
        run::mint(folder, ["init", "--store", url]).ok();
    }
    let words = ["store", "stripes", "make"].into_iter();
    run::mint(folder, words.chain(urls.iter().map(String::as_str))).ok();
    urls.join(" ")
}

/// Timeouts that a test can wait for.
pub fn quick() -> StoreSettings {
    StoreSettings {
        request_timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(2),
        ..StoreSettings::default()
    }
}

/// Timeouts that no answer on a busy machine takes.
pub fn patient() -> StoreSettings {
    StoreSettings {
        request_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        ..StoreSettings::default()
    }
}

/// The same for answers, but not for connections: a server that is just starting may take one and never look at it.
pub fn restless() -> StoreSettings {
    StoreSettings {
        connect_timeout: Duration::from_secs(2),
        ..patient()
    }
}

/// A register's name.
///
/// # Panics
/// When it is outside the grammar.
pub fn key(name: &str) -> Key {
    Key::new(name).expect("a valid key")
}

/// What a test writes.
pub fn value(mark: u64, token: u128) -> Value {
    Value {
        mark,
        token,
        body: "{}".into(),
    }
}

/// Asks for something until it succeeds: a store recovers by itself, but not at once.
///
/// # Panics
/// When it does not within a minute.
pub async fn until_ok<T, F: Future<Output = Result<T, StoreError>>>(mut ask: impl FnMut() -> F) -> T {
    let start = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => assert!(
                start.elapsed() < Duration::from_secs(60) && error.kind == StoreErrorKind::Unavailable,
                "not again after {:?}: {error:?}",
                start.elapsed()
            ),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Checks that an error holds no secret in any form.
///
/// # Panics
/// When it does.
#[track_caller]
pub fn holds_no_secret(error: &StoreError) {
    let text = format!("{error} {error:?}");
    for secret in [
        WRONG_PASSWORD,
        WRONG_PASSWORD_ENCODED,
        READER_PASSWORD,
        READER_PASSWORD_ENCODED,
        OWNER_PASSWORD,
        OWNER_PASSWORD_ENCODED,
    ] {
        no_secret_in("an error", &text, secret);
    }
}

/// The claims, one function each; [`store_suite!`] makes tests of them.
pub mod cases {
    use super::*;

    /// The contract, on the server itself.
    pub fn passes_every_check_of_the_conformance_suite<E: Engine>(lab: Lab<E>) {
        lab.init();
        let (url, runtime) = (lab.direct(), lab.runtime());
        let open = move || -> BoxFuture<'static, Arc<dyn Store>> {
            let (url, runtime) = (url.clone(), runtime.clone());
            Box::pin(async move { open_store(&url, &patient(), runtime).await.expect("it opens") })
        };
        lab.wait(conformance::check_all(&open));
    }

    /// Protocol R5.
    pub fn only_init_makes_schema_and_cluster_id<E: Engine>(lab: Lab<E>) {
        let error = lab.refused(&lab.direct(), &patient());
        assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
        let advised = matches!(
            error.hint,
            Some(Advice::Initialise { .. } | Advice::InitialiseOrRestore)
        );
        assert!(advised, "{error:?}");
        holds_no_secret(&error);
        let settings = StoreSettings {
            expect_cluster: Some(0xfeed),
            ..patient()
        };
        let init = |settings: &StoreSettings| {
            let (url, settings) = (lab.direct(), settings.clone());
            lab.wait(async { init_store(&url, &settings, lab.runtime()).await })
        };
        let made = init(&settings).expect("init works");
        assert_eq!((made.cluster_id, made.created), (0xfeed, true));
        let again = init(&patient()).expect("init works twice");
        assert_eq!((again.cluster_id, again.created), (0xfeed, false));
        let other = StoreSettings {
            expect_cluster: Some(0xbeef),
            ..patient()
        };
        let error = init(&other).expect_err("the store is another cluster");
        assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
        let store = lab.open(&lab.direct());
        assert_eq!(store.cluster_id(), 0xfeed);
        assert_eq!(store.scheme(), lab.engine.scheme());
        let found = store.durability();
        assert!(!found.why.is_empty() && found.class == store.class(), "{found:?}");
        let before = lab.runtime().wall();
        if let Some(wall) = lab.wait(store.wall()).expect("the server answers") {
            let after = lab.runtime().wall();
            let apart = before.since(wall).max(wall.since(after));
            assert!(
                apart < Duration::from_secs(5),
                "one machine has one clock: {apart:?} apart"
            );
        }
    }

    /// What did not reach the server did not happen, whatever the caller can know.
    pub fn a_cut_before_the_request_changes_nothing<E: Engine>(lab: Lab<E>) {
        lab.init();
        let store = lab.open(&lab.proxied());
        let key = key("seq/cut");
        lab.wait(store.compare_and_set(&key, None, value(10, 1), Marks::NeverLower))
            .expect("the server answers");
        lab.proxy.set(Fault::CutRequest);
        let cut =
            lab.wait(store.compare_and_set(&key, Some(Version::of(1)), value(20, 2), Marks::NeverLower));
        let error = cut.expect_err("the request was cut");
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
        lab.proxy.set(Fault::Pass);
        let held = lab.held(&key).expect("it was written");
        assert_eq!((held.value.mark, held.version), (10, Version::of(1)));
        let done = lab.wait(until_ok(|| {
            store.compare_and_set(&key, Some(Version::of(1)), value(20, 3), Marks::NeverLower)
        }));
        assert_eq!(done, Cas::Done(Version::of(2)), "it reconnects by itself");
        assert!(store.stopped().is_none());
    }

    /// The write landed, and nobody may say that it did not.
    pub fn a_lost_answer_is_an_unknown_outcome<E: Engine>(lab: Lab<E>) {
        lab.init();
        let store = lab.open(&lab.proxied());
        let direct = lab.open(&lab.direct());
        let key = key("seq/lost");
        let put = |expected: u64, mark, token| {
            let expected = (expected > 0).then_some(Version::of(expected));
            store.compare_and_set(&key, expected, value(mark, token), Marks::NeverLower)
        };
        let made = lose_answer(&lab, &store, &direct, &key, || put(0, 1, 1));
        assert_eq!(
            made.map(|found| (found.version, found.value.token)),
            Some((Version::of(1), 1))
        );
        let set = lose_answer(&lab, &store, &direct, &key, || put(1, 10, 2));
        assert_eq!(
            set.map(|found| (found.version, found.value.token)),
            Some((Version::of(2), 2))
        );
        let claim = Claim {
            key: key.clone(),
            expected: Version::of(2),
            add: 7,
            token: 3,
        };
        let claimed = lose_answer(&lab, &store, &direct, &key, || store.claim(&claim));
        let claimed = claimed.expect("it is never removed");
        invariant!(
            (claimed.value.mark, claimed.value.token) == (17, 3),
            "{claimed:?}"
        );
        // The same again from the version that was expected: never twice.
        let again = lab.wait(until_ok(|| store.claim(&claim)));
        invariant!(
            again == Cas::Lost(Some(claimed.clone())),
            "{again:?}, not lost to {claimed:?}"
        );
        let plain = super::key("instance/lost");
        lab.wait(store.compare_and_set(&plain, None, value(0, 1), Marks::NeverLower))
            .expect("the server answers");
        let gone = lose_answer(&lab, &store, &direct, &plain, || {
            store.remove(&plain, Version::of(1))
        });
        assert_eq!(gone, None);
        assert!(store.stopped().is_none());
    }

    /// Runs a write whose answer the proxy holds until the write can be seen to have landed, then cuts it off;
    /// answers what the register holds then.
    fn lose_answer<F: Future<Output = Result<Cas, StoreError>>>(
        lab: &Lab<impl Engine>,
        store: &Arc<dyn Store>,
        direct: &Arc<dyn Store>,
        key: &Key,
        write: impl Fn() -> F,
    ) -> Option<Versioned> {
        lab.wait(async {
            let before = direct.get(key).await.expect("the server answers");
            // Where a store first looks at its connection, that look is what is held: then the write never lands.
            for _ in 0..20 {
                lab.proxy.set(Fault::Pass);
                until_ok(|| store.get(key)).await;
                lab.proxy.set(Fault::HoldAnswers);
                let answered = AtomicBool::new(false);
                let writing = async {
                    let answer = write().await;
                    answered.store(true, Ordering::SeqCst);
                    answer
                };
                let watching = async {
                    while !answered.load(Ordering::SeqCst) {
                        if direct.get(key).await.expect("the server answers") != before {
                            lab.proxy.cut_all();
                            return;
                        }
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                };
                let (answer, ()) = tokio::join!(writing, watching);
                let error = answer.expect_err("no answer passes");
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
                let found = direct.get(key).await.expect("the server answers");
                if found != before {
                    assert_eq!(error.outcome, Outcome::Unknown, "it landed: {error:?}");
                    lab.proxy.set(Fault::Pass);
                    return found;
                }
            }
            panic!("no write reached the server");
        })
    }

    /// Nothing was sent, so nothing happened.
    pub fn a_refused_connection_is_certainly_not_done<E: Engine>(mut lab: Lab<E>) {
        lab.init();
        let store = lab.open(&lab.proxied());
        let key = key("seq/refused");
        lab.wait(store.compare_and_set(&key, None, value(1, 1), Marks::NeverLower))
            .expect("the server answers");
        lab.proxy.set(Fault::Refuse);
        // The first one may meet a connection that has just been cut.
        let write =
            |token| store.compare_and_set(&key, Some(Version::of(1)), value(2, token), Marks::NeverLower);
        lab.wait(write(2)).expect_err("nobody listens");
        for token in [3, 4, 5] {
            let error = lab.wait(write(token)).expect_err("nobody listens");
            assert_eq!(
                (error.kind, error.outcome),
                (StoreErrorKind::Unavailable, Outcome::NotDone),
                "{error:?}"
            );
            holds_no_secret(&error);
        }
        lab.proxy.set(Fault::Pass);
        assert_eq!(lab.wait(until_ok(|| write(6))), Cas::Done(Version::of(2)));
        // A server that is not there is no reason to wait, nor is it foreign.
        lab.engine.stop();
        let error = lab.refused(&lab.direct(), &patient());
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
        holds_no_secret(&error);
        lab.engine.start();
    }

    /// What comes of it within what [`quick`] allows and a second. The time is counted in steps, so that a machine that
    /// stands still takes one of them from the store's own timers.
    async fn in_time<F: Future>(asked: F) -> Option<F::Output> {
        let allowed = quick().request_timeout + quick().connect_timeout + Duration::from_secs(1);
        let step = Duration::from_millis(10);
        let steps = async {
            for _ in 0..allowed.div_duration_f64(step) as u32 {
                tokio::time::sleep(step).await;
            }
        };
        tokio::select! {
            biased;
            answer = asked => Some(answer),
            () = steps => None,
        }
    }

    /// A store with [`quick`] settings and a connection, and a register of version 1 in it.
    fn hasty<E: Engine>(lab: &Lab<E>, url: &str, key: &Key) -> Arc<dyn Store> {
        let patient = lab.open(&lab.direct());
        lab.wait(patient.compare_and_set(key, None, value(1, 1), Marks::NeverLower))
            .expect("the server answers");
        let settings = quick();
        let store = lab.wait(until_ok(|| open_store(url, &settings, lab.runtime())));
        lab.wait(until_ok(|| store.get(key)));
        store
    }

    /// Asks a hasty store until a write has landed, which it may have before its answer came too late; its version.
    fn landed<E: Engine>(lab: &Lab<E>, store: &dyn Store, key: &Key, known: Version, new: &Value) -> Version {
        let write = || store.compare_and_set(key, Some(known), new.clone(), Marks::NeverLower);
        match lab.wait(until_ok(write)) {
            Cas::Done(version) => version,
            Cas::Lost(Some(found)) if found.value.token == new.token => found.version,
            Cas::Lost(other) => panic!("somebody else wrote: {other:?}"),
        }
    }

    /// Five seconds, and a caller who allows ten, or one.
    pub fn slow_answers_are_awaited_as_long_as_allowed<E: Engine>(lab: Lab<E>) {
        lab.init();
        let patient = StoreSettings {
            request_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(60),
            ..StoreSettings::default()
        };
        let slow = lab.open_with(&lab.proxied(), &patient).expect("it opens");
        let (theirs, ours) = (key("seq/slow"), key("seq/hasty"));
        lab.wait(slow.compare_and_set(&theirs, None, value(1, 1), Marks::NeverLower))
            .expect("the server answers");
        let hasty = hasty(&lab, &lab.proxied(), &ours);
        let delay = Duration::from_secs(5);
        lab.proxy.set(Fault::DelayAnswers(delay));
        let start = Instant::now();
        let (done, gave_up) = lab.wait(async {
            tokio::join!(
                slow.compare_and_set(&theirs, Some(Version::of(1)), value(2, 2), Marks::NeverLower),
                in_time(hasty.compare_and_set(&ours, Some(Version::of(1)), value(2, 2), Marks::NeverLower))
            )
        });
        assert_eq!(done, Ok(Cas::Done(Version::of(2))));
        assert!(start.elapsed() >= delay, "the answer was slow");
        let error = gave_up.expect("it gives up").expect_err("it allows one second");
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
        lab.proxy.set(Fault::Pass);
        let known = lab.held(&ours).expect("it was written").version;
        let next = landed(&lab, &*hasty, &ours, known, &value(9, 9));
        invariant!(next.number() == known.number() + 1, "{next:?} after {known:?}");
    }

    /// SIGSTOP: connections stay open, nothing answers.
    pub fn a_frozen_server_holds_nobody_longer_than_allowed<E: Engine>(mut lab: Lab<E>) {
        lab.init();
        let key = key("seq/frozen");
        let store = hasty(&lab, &lab.direct(), &key);
        lab.engine.freeze();
        let answers = lab.wait(in_time(async {
            // More than there are connections.
            let calls: Vec<_> = (0..10)
                .map(|n| {
                    let (store, key) = (store.clone(), key.clone());
                    tokio::spawn(async move {
                        store
                            .compare_and_set(&key, Some(Version::of(1)), value(2, 100 + n), Marks::NeverLower)
                            .await
                    })
                })
                .collect();
            let mut answers = Vec::new();
            for call in calls {
                answers.push(call.await.expect("no panic"));
            }
            answers
        }));
        lab.engine.thaw();
        for answer in answers.expect("all give up") {
            let error = answer.expect_err("nothing answers");
            assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
        }
        assert!(store.stopped().is_none());
        // What was on its way may land now, but only once, and it says whose it is.
        let found = lab.wait(until_ok(|| store.get(&key))).expect("it was written");
        let next = lab.wait(until_ok(|| {
            store.compare_and_set(&key, Some(found.version), value(3, 3), Marks::NeverLower)
        }));
        match next {
            Cas::Done(version) => invariant!(
                version.number() == found.version.number() + 1,
                "{version:?} after {found:?}"
            ),
            Cas::Lost(late) => invariant!(
                late.as_ref()
                    .is_some_and(|late| late.value.token >= 100 || late.value.token == 3),
                "{late:?} after {found:?}"
            ),
        }
    }

    /// A clean restart under open connections.
    pub fn a_restarted_server_is_found_again<E: Engine>(mut lab: Lab<E>) {
        let cluster = lab.init();
        let store = lab.open_restless(&lab.direct());
        let key = key("seq/restarted");
        for round in 0..3u64 {
            let expected = (round > 0).then_some(Version::of(round));
            let done = lab.wait(until_ok(|| {
                store.compare_and_set(&key, expected, value(round, 1), Marks::NeverLower)
            }));
            assert_eq!(done, Cas::Done(Version::of(round + 1)));
            lab.engine.stop();
            // A driver that hopes for the server's return answers as late as it may.
            let asked = async { tokio::time::timeout(Duration::from_secs(1), store.get(&key)).await };
            let answer = lab.wait(asked);
            assert!(!matches!(answer, Ok(Ok(_))), "nobody is there: {answer:?}");
            lab.engine.start();
        }
        let found = lab.wait(until_ok(|| store.get(&key)));
        let kept = found.as_ref().map(|found| (found.value.mark, found.version));
        invariant!(kept == Some((2, Version::of(3))), "{found:?}");
        assert_eq!(store.cluster_id(), cluster);
        assert!(store.stopped().is_none());
    }

    /// kill -9 in the middle of writes: what was acknowledged is there, and nothing that was not asked for.
    pub fn a_killed_server_keeps_what_it_acknowledged<E: Engine>(mut lab: Lab<E>) {
        lab.init();
        let store = lab.open_restless(&lab.direct());
        let acknowledged = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..4)
            .map(|n| {
                let key = key(&format!("seq/killed{n}"));
                let (store, stop, acknowledged) = (store.clone(), stop.clone(), acknowledged.clone());
                lab.tokio.spawn(async move {
                    let first = || store.compare_and_set(&key, None, value(0, 1), Marks::NeverLower);
                    until_ok(first).await;
                    let (mut version, mut done, mut unknown) = (Version::of(1), 0u64, 0u64);
                    while !stop.load(Ordering::SeqCst) {
                        let claim = Claim {
                            key: key.clone(),
                            expected: version,
                            add: 1,
                            token: 5,
                        };
                        match store.claim(&claim).await {
                            Ok(Cas::Done(now)) => {
                                version = now;
                                done += 1;
                                acknowledged.fetch_add(1, Ordering::SeqCst);
                            }
                            // One of unknown outcome had landed.
                            Ok(Cas::Lost(found)) => version = found.expect("it is never removed").version,
                            Err(error) => {
                                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
                                unknown += u64::from(error.outcome == Outcome::Unknown);
                                tokio::time::sleep(Duration::from_millis(20)).await;
                            }
                        }
                    }
                    (key, done, unknown)
                })
            })
            .collect();
        for kill in 1..=3u64 {
            // A writer that has ended has failed, and says below how.
            while acknowledged.load(Ordering::SeqCst) < 60 * kill && !writers.iter().any(|w| w.is_finished())
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            lab.engine.kill();
            lab.engine.start();
        }
        stop.store(true, Ordering::SeqCst);
        for writer in writers {
            let (key, done, unknown) = lab.wait(writer).expect("no panic");
            let found = lab.wait(until_ok(|| store.get(&key)));
            let found = found.unwrap_or_else(|| violated(format_args!("{key} is gone")));
            let writes = found.version.number() - 1;
            invariant!(found.value.mark == writes, "{found:?} after {writes} writes");
            invariant!(
                (done..=done + unknown).contains(&writes),
                "{writes} writes, {done} acknowledged, {unknown} of unknown outcome"
            );
        }
        assert!(store.stopped().is_none());
    }

    /// Two store objects, as two processes have them, on one register.
    pub fn two_nodes_never_claim_the_same<E: Engine>(lab: Lab<E>) {
        lab.init();
        let key = key("seq/two");
        let stores = [lab.open(&lab.direct()), lab.open(&lab.direct())];
        lab.wait(stores[0].compare_and_set(&key, None, value(0, 1), Marks::NeverLower))
            .expect("the server answers");
        let tasks: Vec<_> = (0..4u64)
            .map(|n| {
                let (store, key) = (stores[n as usize % 2].clone(), key.clone());
                lab.tokio.spawn(async move {
                    let mut ranges = Vec::new();
                    let mut known = store.get(&key).await.expect("it answers").expect("it is there");
                    while ranges.len() < 50 {
                        let claim = Claim {
                            key: key.clone(),
                            expected: known.version,
                            add: n + 1,
                            token: u128::from(n) + 1,
                        };
                        match store.claim(&claim).await.expect("nothing fails here") {
                            Cas::Done(version) => {
                                let end = known.value.mark + claim.add;
                                ranges.push((known.value.mark, end));
                                known.version = version;
                                known.value.mark = end;
                            }
                            Cas::Lost(found) => known = found.expect("it is never removed"),
                        }
                    }
                    ranges
                })
            })
            .collect();
        let mut ranges: Vec<_> = tasks
            .into_iter()
            .flat_map(|task| lab.wait(task).expect("no panic"))
            .collect();
        ranges.sort_unstable();
        assert_eq!((ranges.len(), ranges[0].0), (200, 0));
        for pair in ranges.windows(2) {
            invariant!(pair[0].1 == pair[1].0, "a gap or an overlap: {pair:?}");
        }
        let held = lab.held(&key);
        invariant!(
            held.as_ref().is_some_and(|held| held.version == Version::of(201)),
            "{held:?} after 200 claims"
        );
    }

    /// Two servers on one store: what one drops the other has not loaded for long.
    pub fn a_dropped_pool_is_a_tombstone_that_keeps_layout_and_windows<E: Engine>(lab: Lab<E>) {
        lab.init();
        let open = || {
            let store = lab.open(&lab.direct());
            let ledger = Ledger::open(store, LedgerSettings::default(), lab.runtime());
            lab.wait(ledger).expect("the server answers")
        };
        let (one, other) = (open(), open());
        let name = Name::new("misspelt").expect("it is a name");
        let of = |text: &str| {
            let layout = text.parse().expect("it is a layout");
            PoolSpec::from(PoolKind::Snowflake(Arc::new(layout)))
        };
        // A window has four ticks at least: it lasts for as long as a busy machine needs.
        let spec = of("time=41,worker=1,sequence=10;tick=60s");
        lab.wait(async {
            let pool = one.create_pool(&name, spec.clone()).await.expect("it is made");
            let loaded = other.pool_or_default(&name).await.expect("it is there");
            let lent = loaded.lend("billing").await.expect("a worker is free");
            let in_use = one.drop_pool(&name).await.expect_err("a window lasts");
            assert!(in_use.to_string().contains("is held by billing"), "{in_use}");
            loaded
                .end_lent(lent.worker, &lent.owner, lent.version)
                .await
                .expect("it is ours");
            let before = pool.windows(0, 10).await.expect("the server answers");
            one.drop_pool(&name).await.expect("nobody holds a window");
            let gone = LedgerError::NoPool { name: name.clone() };
            assert_eq!(other.existing_pool(&name).await.err(), Some(gone.clone()));
            assert_eq!(loaded.lend("billing").await, Err(gone.clone()));
            assert_eq!(one.drop_pool(&name).await, Err(gone));
            assert_eq!(other.pools(None, 10).await.map(|pools| pools.len()), Ok(0));
            let wider = other
                .create_pool(&name, of("time=41,worker=2,sequence=10;tick=60s"))
                .await;
            assert!(matches!(wider, Err(LedgerError::PoolDropped { .. })), "{wider:?}");
            let again = other.create_pool(&name, spec).await.expect("of the same layout");
            let after = again.windows(0, 10).await.expect("the server answers");
            invariant!(after == before, "{after:?} where {before:?} was");
            one.close().await.ok();
            other.close().await.ok();
        });
    }

    /// Refused for what it is, and the password in no text.
    pub fn a_wrong_password_is_refused_and_never_printed<E: Engine>(lab: Lab<E>) {
        lab.init();
        let Some(url) = lab.engine.url_of_stranger(lab.engine.address()) else {
            return;
        };
        let error = lab.refused(&url, &patient());
        assert_eq!(error.kind, StoreErrorKind::Denied, "{error:?}");
        holds_no_secret(&error);
        let init = lab.wait(init_store(&url, &patient(), lab.runtime()));
        let error = init.expect_err("the password is wrong");
        assert_eq!(error.kind, StoreErrorKind::Denied, "{error:?}");
        holds_no_secret(&error);
        let store = lab.open(&lab.direct());
        let shown = format!("{store:?}");
        no_secret_in("a store", &shown, OWNER_PASSWORD);
        no_secret_in("a store", &shown, OWNER_PASSWORD_ENCODED);
    }

    /// An account that may read: at the latest its first write says what it lacks.
    pub fn missing_rights_are_named_and_change_nothing<E: Engine>(lab: Lab<E>) {
        lab.init();
        let Some(url) = lab.engine.url_of_reader(lab.engine.address()) else {
            return;
        };
        let key = key("seq/rights");
        let owner = lab.open(&lab.direct());
        lab.wait(owner.compare_and_set(&key, None, value(1, 1), Marks::NeverLower))
            .expect("the owner may");
        match lab.open_with(&url, &patient()) {
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Denied, "{error:?}");
                holds_no_secret(&error);
            }
            Ok(store) => {
                let found = lab
                    .wait(store.get(&key))
                    .expect("it may read")
                    .expect("it is there");
                let claim = Claim {
                    key: key.clone(),
                    expected: found.version,
                    add: 1,
                    token: 3,
                };
                let fresh = super::key("seq/fresh");
                let writes = [
                    lab.wait(store.compare_and_set(
                        &key,
                        Some(found.version),
                        value(2, 2),
                        Marks::NeverLower,
                    )),
                    lab.wait(store.compare_and_set(&fresh, None, value(2, 2), Marks::NeverLower)),
                    lab.wait(store.claim(&claim)),
                ];
                for write in writes {
                    let error = write.expect_err("it may not write");
                    assert_eq!(
                        (error.kind, error.outcome),
                        (StoreErrorKind::Denied, Outcome::NotDone),
                        "{error:?}"
                    );
                    holds_no_secret(&error);
                }
                assert!(store.stopped().is_none(), "rights may be given");
            }
        }
        let held = lab.held(&key).expect("it was written");
        assert_eq!((held.value.mark, held.version), (1, Version::of(1)));
    }

    /// Another cluster id than expected, at the opening and under a running node.
    pub fn a_foreign_cluster_is_refused_and_stops_a_running_node<E: Engine>(mut lab: Lab<E>) {
        let cluster = lab.init();
        let expect = |id| StoreSettings {
            expect_cluster: Some(id),
            ..patient()
        };
        let error = lab.refused(&lab.direct(), &expect(cluster ^ 1));
        assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
        let store = lab
            .open_with(&lab.direct(), &expect(cluster))
            .expect("it is ours");
        let key = key("seq/foreign");
        lab.wait(store.compare_and_set(&key, None, value(1, 1), Marks::NeverLower))
            .expect("the server answers");
        lab.engine.set_cluster_id(cluster ^ 1);
        stops(&lab, &store, &key);
        lab.engine.set_cluster_id(cluster);
        let held = lab.held(&key).expect("it was written");
        assert_eq!(
            held.version,
            Version::of(1),
            "nothing was written into the other cluster"
        );
    }

    /// Emptied behind a known cluster id: never a fresh start.
    pub fn an_emptied_store_is_refused_and_stops_a_running_node<E: Engine>(mut lab: Lab<E>) {
        let cluster = lab.init();
        let store = lab.open(&lab.direct());
        let key = key("seq/emptied");
        lab.wait(store.compare_and_set(&key, None, value(1, 1), Marks::NeverLower))
            .expect("the server answers");
        lab.engine.empty();
        stops(&lab, &store, &key);
        let error = lab.refused(
            &lab.direct(),
            &StoreSettings {
                expect_cluster: Some(cluster),
                ..patient()
            },
        );
        assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
    }

    /// Every kind of write fails, certainly; the store says for good why.
    fn stops<E: Engine>(lab: &Lab<E>, store: &Arc<dyn Store>, key: &Key) {
        let fresh = super::key("seq/afresh");
        let claim = Claim {
            key: key.clone(),
            expected: Version::of(1),
            add: 1,
            token: 4,
        };
        let writes = [
            lab.wait(store.compare_and_set(&fresh, None, value(1, 2), Marks::NeverLower)),
            lab.wait(store.compare_and_set(key, Some(Version::of(1)), value(2, 3), Marks::NeverLower)),
            lab.wait(store.claim(&claim)),
        ];
        for write in writes {
            let error = write.expect_err("this is not our store any more");
            assert_eq!(
                (error.kind, error.outcome),
                (StoreErrorKind::Stopped, Outcome::NotDone),
                "{error:?}"
            );
        }
        assert!(
            lab.wait(store.get(key)).is_err(),
            "reads are no better than writes"
        );
        let stopped = store.stopped().expect("it has stopped for good");
        assert!(!stopped.message.is_empty());
    }

    /// Newer: the newer program. Older: what this one can do about it.
    pub fn another_schema_is_refused<E: Engine>(mut lab: Lab<E>) {
        lab.init();
        for version in [SCHEMA_VERSION + 1, SCHEMA_VERSION - 1] {
            lab.engine.set_schema_version(version);
            let error = lab.refused(&lab.direct(), &patient());
            assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
            assert!(
                error.message.contains(&version.to_string()),
                "what was found: {error:?}"
            );
            assert!(error.hint.is_some(), "what to do: {error:?}");
            let init = lab.wait(init_store(&lab.direct(), &patient(), lab.runtime()));
            assert_eq!(
                init.expect_err("init overwrites nothing").kind,
                StoreErrorKind::Foreign
            );
        }
        lab.engine.set_schema_version(SCHEMA_VERSION);
        lab.open(&lab.direct());
    }

    /// An administrator's change under a running node, which `why` names: who connects again sees it, as each look of a
    /// minute does.
    pub fn a_server_that_begins_to_forget_takes_no_more_writes<E: Engine>(
        lab: Lab<E>,
        why: &str,
        [forget, mend]: [&dyn Fn(&E); 2],
    ) {
        lab.init();
        let store = lab.open(&lab.proxied());
        let kept = store.class();
        assert_ne!(kept, Class::Lossy);
        let key = key("seq/changed");
        let write = |token| store.compare_and_set(&key, None, value(1, token), Marks::NeverLower);
        forget(&lab.engine);
        lab.proxy.cut_all();
        // The first call may meet the connection that was cut.
        lab.wait(write(1)).expect_err("it is cut");
        let error = lab.wait(write(2)).expect_err("it may be forgotten");
        let is = (error.kind, error.outcome);
        assert_eq!(is, (StoreErrorKind::Unavailable, Outcome::NotDone), "{error:?}");
        assert!(error.message.contains(why), "{error:?}");
        mend(&lab.engine);
        lab.proxy.cut_all();
        assert_eq!(lab.wait(until_ok(|| write(3))), Cas::Done(Version::of(1)));
        assert_eq!(store.class(), kept);
    }
}
