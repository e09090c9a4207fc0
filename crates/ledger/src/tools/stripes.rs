//! Sets of stores (protocol S9): making one, and adding a store to one.
//!
//! Adding changes which store has which number and worker, so that every store is sealed first, the new one before the
//! others: servers stop. Then every sequence goes on in all stores, the new one included, above the furthest that any of
//! them has issued; every window's record is copied to the store that has its worker from now on; the stores learn
//! their new count, the new one first; and the seals come off, that of the new one first.
//!
//! Cut off anywhere, it is finished by the same command. As long as no store of the old set knows of the new one, the
//! old set goes on without it once its seals are taken off; the new store stays sealed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::begun::{adding, check_not_set_back, check_seal, filling};
use super::seal::{check_unused, take_off};
use super::{PREFIXES, seal};
use crate::advice::Advice;
use crate::name::Name;
use crate::notes::restored_key;
use crate::runtime::{Runtime, fresh_token};
use crate::sequence::State;
use crate::store::{Cas, Key, Marks, Outcome, Pages, Store, StoreError, StoreErrorKind, Value, Versioned};
use crate::striped::{STRIPES_MAX, Stripe, StripeNote, placed, stripe_key, stripe_of};

/// How often a register is tried again after somebody else wrote it.
const TRIES: usize = 64;

fn refused(kind: StoreErrorKind, why: String, hint: impl Into<Advice>) -> StoreError {
    StoreError::new(kind, Outcome::NotDone, why).with_hint(hint)
}

/// Makes a set of these stores, which are initialised and hold nothing. Doing it again after a failure goes on.
///
/// # Errors
/// A store holds registers, is in another set, or stands twice; there are more than 16 or fewer than 2.
pub async fn make_set(stores: &[&dyn Store], runtime: &dyn Runtime) -> Result<Vec<StripeNote>, StoreError> {
    let of = u8::try_from(stores.len())
        .ok()
        .filter(|of| (2..=STRIPES_MAX).contains(of));
    let Some(of) = of else {
        return Err(refused(
            StoreErrorKind::Invalid,
            format!("a set has 2 to {STRIPES_MAX} stores, {} are named", stores.len()),
            "name each store once",
        ));
    };
    let mut ids: Vec<u128> = stores.iter().map(|store| store.cluster_id()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() != stores.len() {
        return Err(refused(
            StoreErrorKind::Invalid,
            "a store is listed twice".to_string(),
            "name each store once",
        ));
    }
    let mut set = None;
    let mut is_made = true;
    for store in stores {
        check_seal(*store, None).await?;
        match stripe_of(*store).await? {
            Some(note) if note.of == of && set.as_ref().is_none_or(|set| *set == note.set) => {
                set = Some(note.set)
            }
            Some(note) => return Err(in_another_set(&note)),
            None => is_made = false,
        }
    }
    if !is_made {
        // Also those that have a place already: a store that was used alone, or one whose neighbour was lost, gave out
        // numbers of another share.
        for store in stores {
            check_empty(*store).await?;
        }
    }
    let set = set.unwrap_or_else(|| format!("{:032x}", fresh_token(runtime)));
    let mut notes = Vec::new();
    for (number, store) in (0..of).zip(stores) {
        let note = StripeNote {
            set: set.clone(),
            number,
            of,
        };
        match stripe_of(*store).await? {
            Some(found) if found.number != number => return Err(in_another_set(&found)),
            Some(found) => notes.push(found),
            None => {
                write_note(*store, &note, runtime).await?;
                notes.push(note);
            }
        }
    }
    Ok(notes)
}

/// Adds a store that is initialised and holds nothing to a set, all of whose stores are given. Doing it again after a
/// failure goes on.
///
/// # Errors
/// A store of the set is missing or sealed by something else, servers do not stop, or the new store holds something.
pub async fn add_to_set(
    stores: &[&dyn Store],
    new: &dyn Store,
    runtime: &dyn Runtime,
) -> Result<StripeNote, StoreError> {
    let places = places_of(stores).await?;
    let old = u8::try_from(places.len()).expect("no more than a set has");
    let note = StripeNote {
        set: places[0].1.set.clone(),
        number: old,
        of: old + 1,
    };
    let (filling, adding) = (filling(&note), adding(new, note.of));
    if is_added(&places, new, &note, (&filling, &adding)).await? {
        return Ok(note);
    }
    // Nothing is sealed for what cannot be finished.
    for key in names_of(&places).await? {
        states_of(&places, &key, old).await?;
    }
    check_unused(new, runtime).await?;
    seal(new, &filling, runtime).await?;
    for (store, _) in &places {
        seal(*store, &adding, runtime).await?;
    }
    let all: Vec<&dyn Store> = places.iter().map(|(store, _)| *store).chain([new]).collect();
    // A store that knows of the new one already has been through all this.
    if places.iter().all(|(_, place)| place.of == old) {
        level_sequences(&places, new, old, runtime).await?;
        move_windows(&all, runtime).await?;
        copy_pools(&places, new, runtime).await?;
        copy_restored(&places, new, runtime).await?;
    }
    write_note(new, &note, runtime).await?;
    for (store, place) in &places {
        let of = note.of;
        write_note(*store, &StripeNote { of, ..place.clone() }, runtime).await?;
    }
    // The new one first: from then on its seal does not say that it is only half of a store.
    for store in all.iter().rev() {
        take_off(*store, runtime).await?;
    }
    Ok(note)
}

/// The stores of a set, in the order of their numbers, each with its place.
async fn places_of<'a>(stores: &[&'a dyn Store]) -> Result<Vec<(&'a dyn Store, StripeNote)>, StoreError> {
    let mut places = Vec::with_capacity(stores.len());
    for store in stores {
        let Some(note) = stripe_of(*store).await? else {
            return Err(refused(
                StoreErrorKind::Foreign,
                "a store is not a member of a set".to_string(),
                "name every store of the set",
            ));
        };
        places.push((*store, note));
    }
    places.sort_by_key(|(_, note)| note.number);
    let many = places.len();
    let is_whole = places.iter().enumerate().all(|(number, (_, note))| {
        let of = usize::from(note.of);
        // After a failure half-way some know of the new one.
        usize::from(note.number) == number && (of == many || of == many + 1) && note.set == places[0].1.set
    });
    match is_whole && (1..usize::from(STRIPES_MAX)).contains(&many) {
        true => Ok(places),
        false => Err(not_whole(many)),
    }
}

/// Whether the new store has this place already and serves; refuses what cannot be begun, or gone on with.
async fn is_added(
    places: &[(&dyn Store, StripeNote)],
    new: &dyn Store,
    note: &StripeNote,
    (filling, adding): (&str, &str),
) -> Result<bool, StoreError> {
    let found = stripe_of(new).await?;
    if let Some(found) = found.as_ref().filter(|found| *found != note) {
        return Err(in_another_set(found));
    }
    let is_begun = check_seal(new, Some(filling)).await?;
    let mut is_open = true;
    for (store, _) in places {
        is_open &= !check_seal(*store, Some(adding)).await?;
        check_not_set_back(*store).await?;
    }
    let knowing = places.iter().filter(|(_, place)| place.of == note.of).count();
    match (found.is_some(), is_begun, knowing) {
        (false, false, 0) => check_empty(new).await.map(|()| false),
        (_, true, 0) => Ok(false),
        (true, true, _) if !is_open => Ok(false),
        // Who knows of one more learned it after that one: a stranger, or one that was given up and another taken in its
        // place, would get the numbers of a store of the set that was not named.
        (false, ..) | (true, true, _) => Err(not_whole(places.len())),
        (true, false, knowing) if knowing == places.len() => Ok(is_open),
        // It is a member, and others were put back to before that: their shares were cut otherwise.
        (true, false, _) => Err(in_another_set(note)),
    }
}

fn not_whole(many: usize) -> StoreError {
    refused(
        StoreErrorKind::Invalid,
        format!("these {many} stores are not a whole set, or there are {STRIPES_MAX} already"),
        "name every store of the set, each once",
    )
}

/// The keys of every sequence that a store of the set knows.
async fn names_of(places: &[(&dyn Store, StripeNote)]) -> Result<BTreeSet<Key>, StoreError> {
    let mut names = BTreeSet::new();
    for (store, _) in places {
        each(*store, "seq/", |key, _| {
            names.insert(key);
        })
        .await?;
    }
    Ok(names)
}

/// A sequence as each store of the old set has it.
async fn states_of(
    places: &[(&dyn Store, StripeNote)],
    key: &Key,
    old: u8,
) -> Result<Vec<Option<State>>, StoreError> {
    let cannot = |why: String| refused(StoreErrorKind::Corrupt, why, "repair the record first");
    let name = Name::from_key(key.after("seq/")).map_err(|e| cannot(e.to_string()))?;
    let mut states = Vec::with_capacity(places.len());
    for (store, note) in places {
        let stripe = Stripe {
            number: note.number,
            of: old,
        };
        let found = (*store).get(key).await?.map(|found| placed(found, stripe));
        let state = found.map(|found| State::read(&name, &found)).transpose();
        states.push(state.map_err(|e| cannot(e.to_string()))?);
    }
    Ok(states)
}

/// Makes every sequence go on in all stores above the furthest that any of them has reserved.
async fn level_sequences(
    places: &[(&dyn Store, StripeNote)],
    new: &dyn Store,
    old: u8,
    runtime: &dyn Runtime,
) -> Result<(), StoreError> {
    for key in names_of(places).await? {
        let states = states_of(places, &key, old).await?;
        let Some(level) = State::levelled(states.iter().flatten()) else {
            continue;
        };
        for ((store, _), state) in places.iter().zip(&states) {
            let ordinal = state.as_ref().map_or(0, |state| state.ordinal);
            rewrite(*store, &key, &level.at_ordinal(ordinal), runtime).await?;
        }
        rewrite(new, &key, &level.at_ordinal(0), runtime).await?;
    }
    Ok(())
}

/// Writes a sequence's record, whatever version it is at: the store is sealed.
async fn rewrite(
    store: &dyn Store,
    key: &Key,
    state: &State,
    runtime: &dyn Runtime,
) -> Result<(), StoreError> {
    put(store, key, |found| {
        let value = state.write(fresh_token(runtime));
        // Numbers that were taken by somebody who was cut off while the store was sealed.
        let mark = found.map_or(0, |found| found.value.mark).max(value.mark);
        Value { mark, ..value }
    })
    .await
}

/// Copies the records of windows to the store that has their worker from now on.
async fn move_windows(all: &[&dyn Store], runtime: &dyn Runtime) -> Result<(), StoreError> {
    let mut windows: HashMap<Key, Value> = HashMap::new();
    for store in all {
        each(*store, "window/", |key, found| {
            let known = windows.get(&key).map_or(0, |value| value.mark);
            if found.value.mark >= known {
                windows.insert(key, found.value);
            }
        })
        .await?;
    }
    for (key, value) in windows {
        let worker: u64 = key
            .as_str()
            .rsplit('/')
            .next()
            .and_then(|w| w.parse().ok())
            .unwrap_or(0);
        let home = all[(worker % all.len() as u64) as usize];
        put(home, &key, |found| Value {
            mark: found.map_or(0, |found| found.value.mark).max(value.mark),
            token: fresh_token(runtime),
            body: value.body.clone(),
        })
        .await?;
    }
    Ok(())
}

async fn copy_pools(
    places: &[(&dyn Store, StripeNote)],
    new: &dyn Store,
    runtime: &dyn Runtime,
) -> Result<(), StoreError> {
    let mut pools: BTreeMap<Key, Value> = BTreeMap::new();
    for (store, _) in places {
        each(*store, "pool/", |key, found| {
            pools.entry(key).or_insert(found.value);
        })
        .await?;
    }
    for (key, value) in pools {
        put(new, &key, |_| Value {
            token: fresh_token(runtime),
            ..value.clone()
        })
        .await?;
    }
    Ok(())
}

/// Names that a lost store may have given out begin above in the new one, too.
async fn copy_restored(
    places: &[(&dyn Store, StripeNote)],
    new: &dyn Store,
    runtime: &dyn Runtime,
) -> Result<(), StoreError> {
    let mut highest: Option<Value> = None;
    for (store, _) in places {
        let found = (*store).get(&restored_key()).await?.map(|found| found.value);
        let mark = |value: &Option<Value>| value.as_ref().map_or(0, |value| value.mark);
        if mark(&found) > mark(&highest) {
            highest = found;
        }
    }
    let Some(value) = highest else { return Ok(()) };
    put(new, &restored_key(), |found| Value {
        mark: found.map_or(0, |found| found.value.mark).max(value.mark),
        token: fresh_token(runtime),
        body: value.body.clone(),
    })
    .await
}

async fn each(
    store: &dyn Store,
    prefix: &str,
    mut take: impl FnMut(Key, Versioned),
) -> Result<(), StoreError> {
    let mut pages = Pages::of(store, prefix);
    loop {
        let page = pages.next().await?;
        if page.is_empty() {
            return Ok(());
        }
        for (key, found) in page {
            take(key, found);
        }
    }
}

async fn put(
    store: &dyn Store,
    key: &Key,
    mut new: impl FnMut(Option<&Versioned>) -> Value,
) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let found = store.get(key).await?;
        let value = new(found.as_ref());
        let expected = found.map(|found| found.version);
        if let Cas::Done(_) = store
            .compare_and_set(key, expected, value, Marks::NeverLower)
            .await?
        {
            return Ok(());
        }
    }
    Err(refused(
        StoreErrorKind::InUse,
        format!("somebody still writes {key}"),
        "stop the servers",
    ))
}

async fn write_note(store: &dyn Store, note: &StripeNote, runtime: &dyn Runtime) -> Result<(), StoreError> {
    put(store, &stripe_key(), |found| Value {
        // Carries a mark, so that it is never removed.
        mark: found.map_or(0, |found| found.value.mark) + 1,
        token: fresh_token(runtime),
        body: serde_json::to_string(note).expect("plain fields always serialise"),
    })
    .await
}

async fn check_empty(store: &dyn Store) -> Result<(), StoreError> {
    for prefix in PREFIXES {
        if let Some((key, _)) = Pages::of(store, prefix).next().await?.first() {
            return Err(refused(
                StoreErrorKind::InUse,
                format!("a store is not empty, it holds {key}"),
                Advice::SetOfFresh,
            ));
        }
    }
    Ok(())
}

fn in_another_set(note: &StripeNote) -> StoreError {
    refused(
        StoreErrorKind::InUse,
        format!(
            "a store is number {} of {} in set {} already",
            note.number, note.of, note.set
        ),
        "name the stores of one set, in the order in which they were first named",
    )
}
