//! Names that were made by their use and are nearly those of other sequences: a typing error, or another system's way to
//! write a name, makes a counter that begins at 1.
//!
//! What is known is an index of bounded size: the names that were used or made last, found by parts that a single
//! letter cannot change. What one look costs does not grow with the number of sequences.

mod rule;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use mintage_ledger::Name;

use self::rule::{Spelling, are_near, shape};

/// How many names of one shape are known, so that a million names that are counted through leave room for others.
const SHAPE_MAX: usize = 16;
/// How many names share one part at most, the last ones; others are found by their other parts alone.
const PART_MAX: usize = 64;

/// The names that are known.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    max: usize,
    /// In the order in which they came; the first goes when there are too many.
    order: VecDeque<Name>,
    names: HashMap<Name, Spelling>,
    parts: HashMap<u64, Vec<Name>>,
    hasher: RandomState,
}

/// By what a name is found.
#[derive(Hash)]
enum Part<'n> {
    /// All of its shape.
    Whole(&'n str),
    /// A shape of that many letters without its first third, its second, its last.
    End(usize, &'n [char]),
    Outside(usize, &'n [char], &'n [char]),
    Begin(usize, &'n [char]),
    /// What follows the schema.
    Unqualified(&'n str),
}

impl KnownNames {
    /// Knows at most `max` names.
    pub(super) fn new(max: u64) -> KnownNames {
        KnownNames {
            max: usize::try_from(max).unwrap_or(usize::MAX),
            ..KnownNames::default()
        }
    }

    /// Whether it has as many as it may.
    pub(super) fn is_full(&self) -> bool {
        self.order.len() >= self.max
    }

    /// Remembers a name that exists.
    pub(super) fn add(&mut self, name: &Name) {
        if self.max == 0 || self.names.contains_key(name) {
            return;
        }
        let spelling = Spelling::of(name.as_str());
        let whole = self.key(&Part::Whole(&spelling.shape()));
        if self
            .parts
            .get(&whole)
            .is_some_and(|known| known.len() >= SHAPE_MAX)
        {
            return;
        }
        if self.is_full()
            && let Some(oldest) = self.order.pop_front()
        {
            self.take_out(&oldest);
        }
        for key in self.keys_of(&spelling) {
            let known = self.parts.entry(key).or_default();
            if known.len() == PART_MAX {
                known.remove(0);
            }
            known.push(name.clone());
        }
        self.order.push_back(name.clone());
        self.names.insert(name.clone(), spelling);
    }

    /// Forgets a name that was dropped.
    pub(super) fn forget(&mut self, name: &Name) {
        if self.take_out(name) {
            self.order.retain(|known| known != name);
        }
    }

    /// Whether it was known.
    fn take_out(&mut self, name: &Name) -> bool {
        let Some(spelling) = self.names.remove(name) else {
            return false;
        };
        for key in self.keys_of(&spelling) {
            if let Some(known) = self.parts.get_mut(&key) {
                known.retain(|known| known != name);
                if known.is_empty() {
                    self.parts.remove(&key);
                }
            }
        }
        true
    }

    /// A known name that this one nearly is, among those that `lives` confirms.
    pub(super) fn near(&self, name: &Name, lives: impl Fn(&Name) -> bool) -> Option<Name> {
        let spelling = Spelling::of(name.as_str());
        let candidates = self.where_to_look(&spelling);
        let candidates = candidates.iter().filter_map(|key| self.parts.get(key)).flatten();
        let is_near =
            |known: &&Name| *known != name && are_near(&spelling, &self.names[*known]) && lives(known);
        candidates.into_iter().find(is_near).cloned()
    }

    /// The keys that a name is kept under.
    fn keys_of(&self, spelling: &Spelling) -> Vec<u64> {
        let shape = spelling.shape();
        let letters: Vec<char> = shape.chars().collect();
        let long = letters.len();
        let (one, two) = thirds(long);
        let mut keys = vec![
            self.key(&Part::Whole(&shape)),
            self.key(&Part::Begin(long, &letters[..two])),
            self.key(&Part::Outside(long, &letters[..one], &letters[two..])),
            self.key(&Part::End(long, &letters[one..])),
        ];
        keys.extend(
            spelling
                .unqualified
                .as_deref()
                .map(|last| self.key(&Part::Unqualified(last))),
        );
        keys
    }

    /// The keys under which its near names are. A name that differs by one letter has two of its thirds in common with
    /// it, counted from the beginning or from the end, unless the letters on both sides of a cut changed places.
    fn where_to_look(&self, spelling: &Spelling) -> Vec<u64> {
        let whole = spelling.shape();
        let letters: Vec<char> = whole.chars().collect();
        let many = letters.len();
        let mut keys = vec![
            self.key(&Part::Whole(&whole)),
            self.key(&Part::Unqualified(&spelling.plain)),
        ];
        if let Some(last) = &spelling.unqualified {
            keys.push(self.key(&Part::Whole(&shape(last))));
        }
        for long in many.saturating_sub(1)..=many + 1 {
            let (one, two) = thirds(long);
            let begin = |count: usize| letters.get(..count);
            let end = |count: usize| many.checked_sub(count).map(|at| &letters[at..]);
            keys.extend(begin(two).map(|begin| self.key(&Part::Begin(long, begin))));
            keys.extend(end(long - one).map(|end| self.key(&Part::End(long, end))));
            if let (Some(begin), Some(end)) = (begin(one), end(long - two)) {
                keys.push(self.key(&Part::Outside(long, begin, end)));
            }
        }
        let (one, two) = thirds(many);
        for cut in [one, two].into_iter().filter(|cut| (1..many).contains(cut)) {
            let mut swapped = letters.clone();
            swapped.swap(cut - 1, cut);
            keys.push(self.key(&Part::Whole(&swapped.into_iter().collect::<String>())));
        }
        keys
    }

    fn key(&self, part: &Part<'_>) -> u64 {
        self.hasher.hash_one(part)
    }
}

/// Where so many letters are cut into three.
fn thirds(letters: usize) -> (usize, usize) {
    (letters / 3, letters - letters / 3)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::Arc;

    use mintage_ledger::{Ledger, SequenceSpec, StoreSettings, SystemRuntime, open_store};

    use super::*;
    use crate::config::Config;
    use crate::noise::Asker;
    use crate::opening::ledger_settings;
    use crate::service::{SendDoor, Service};
    use crate::transport::Peer;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn known(max: u64, names: &[&str]) -> KnownNames {
        let mut known = KnownNames::new(max);
        names.iter().for_each(|text| known.add(&name(text)));
        known
    }

    #[track_caller]
    fn check_near(known: &KnownNames, new: &str, near: Option<&str>) {
        assert_eq!(known.near(&name(new), |_| true), near.map(name), "{new}");
    }

    /// Every single change of a letter is found, wherever it is: the thirds miss none.
    #[test]
    fn every_name_that_is_one_letter_off_is_found() {
        for of in ["orders", "invoice", "billing.invoices", "заказы"] {
            let index = known(10, &[of, "something else"]);
            let letters: Vec<char> = of.chars().collect();
            let mut tried = 0;
            let mut check = |changed: &[char]| {
                let changed: String = changed.iter().collect();
                if changed != of && are_near(&Spelling::of(of), &Spelling::of(&changed)) {
                    check_near(&index, &changed, Some(of));
                    tried += 1;
                }
            };
            for at in 0..=letters.len() {
                let mut more = letters.clone();
                more.insert(at, 'x');
                check(&more);
                if at == letters.len() {
                    continue;
                }
                let mut other = letters.clone();
                other[at] = 'x';
                check(&other);
                let mut fewer = letters.clone();
                fewer.remove(at);
                check(&fewer);
                if at > 0 {
                    let mut swapped = letters.clone();
                    swapped.swap(at - 1, at);
                    check(&swapped);
                }
            }
            assert!(tried >= 3 * letters.len(), "{of}: {tried}");
        }
    }

    #[test]
    fn other_systems_spellings_are_found() {
        let known = known(10, &["shop.orders", "invoices", "shard_01"]);
        check_near(&known, "orders", Some("shop.orders"));
        check_near(&known, "public.invoices", Some("invoices"));
        check_near(&known, "SHOP.ORDERS", Some("shop.orders"));
        check_near(&known, "shop_orders", Some("shop.orders"));
        for new in ["shop.orders", "crm.orders", "shard_02", "tickets"] {
            check_near(&known, new, None);
        }
    }

    #[test]
    fn what_was_dropped_or_does_not_live_is_not_near() {
        let mut known = known(10, &["orders"]);
        assert_eq!(known.near(&name("order"), |_| false), None);
        known.forget(&name("orders"));
        check_near(&known, "order", None);
        assert!(
            known.parts.is_empty() && known.order.is_empty(),
            "nothing is left of it"
        );
    }

    /// A look and the memory stay as they are, however many names come.
    #[test]
    fn names_that_are_counted_through_leave_room_for_others_and_cost_no_more() {
        let mut known = known(1000, &["orders"]);
        for k in 0..100_000_u32 {
            known.add(&name(&format!("customer:{k}:orders")));
        }
        assert_eq!(
            known.names.len(),
            1 + SHAPE_MAX,
            "those that are counted through are one shape"
        );
        check_near(&known, "ordres", Some("orders"));

        // Names of words: the last thousand are known.
        let word = |k: u32| -> String {
            let letter = |n: u32| char::from(b'a' + u8::try_from(n % 26).unwrap());
            format!(
                "tenant {}",
                (0..6).map(|at| letter(k / 26_u32.pow(at))).collect::<String>()
            )
        };
        (0..5000).for_each(|k| known.add(&name(&word(k))));
        assert_eq!((known.names.len(), known.order.len()), (1000, 1000));
        assert!(known.parts.values().all(|names| names.len() <= PART_MAX));
        let most = known.where_to_look(&Spelling::of("tenant aaaaaa")).len();
        assert!(most <= 14, "{most} lists of {PART_MAX}");
        check_near(&known, &format!("{}s", word(4999)), Some(&word(4999)));
    }

    #[test]
    fn none_are_known_where_it_is_off() {
        check_near(&known(0, &["orders"]), "order", None);
    }

    async fn service_over(ledger: &Arc<Ledger>) -> Arc<Service> {
        Service::new(Arc::clone(ledger), Arc::new(Config::default()))
    }

    async fn ledger() -> Arc<Ledger> {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone()).await;
        let settings = ledger_settings(&Config::default());
        Ledger::open(store.unwrap(), settings, runtime).await.unwrap()
    }

    async fn take(service: &Arc<Service>, name: &str) {
        let by = Asker {
            token: Cow::Borrowed("default"),
            peer: Peer::Unix,
        };
        let door = SendDoor::new(Arc::clone(service));
        door.take(name.as_bytes(), 1, &by, |_| {}).await.unwrap();
    }

    /// After an import as `shop.orders_seq`, `INCR orders_seq` answered 1, and nobody was told.
    #[tokio::test]
    async fn a_first_use_under_a_nearly_known_name_is_counted() {
        let ledger = ledger().await;
        let service = service_over(&ledger).await;
        let spec = SequenceSpec::default();
        service.create(&name("shop.orders_seq"), &spec).await.unwrap();
        take(&service, "shop.orders_seq").await;
        assert_eq!(service.near_names(), 0, "that is its name");
        take(&service, "orders_seq").await;
        assert_eq!(service.near_names(), 1);
        take(&service, "orders_seq").await;
        assert_eq!(service.near_names(), 1, "it was made once");
        // What was made by use is known too; what somebody makes by its definition is meant.
        take(&service, "invoices").await;
        service.create(&name("invoice"), &spec).await.unwrap();
        assert_eq!(service.near_names(), 1);
        take(&service, "invoises").await;
        assert_eq!(service.near_names(), 2);
        service.drop_sequence(&name("orders_seq")).await.unwrap();
        service.drop_sequence(&name("shop.orders_seq")).await.unwrap();
        take(&service, "orders_sek").await;
        assert_eq!(service.near_names(), 2, "neither is there any more");

        // A server that starts over the same store learns what is there.
        let next = service_over(&ledger).await;
        next.learn_names().await.unwrap();
        take(&next, "invoicess").await;
        assert_eq!(next.near_names(), 1);
    }
}
