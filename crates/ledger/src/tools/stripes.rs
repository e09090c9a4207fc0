//! Sets of stores (protocol S9): making one, and adding a store to one.
//!
//! Adding changes which store has which number and worker, so that every store is sealed first: servers stop. Then
//! every sequence goes on in all stores, the new one included, above the furthest that any of them has issued; every
//! window's record is copied to the store that has its worker from now on; the stores learn their new count; and the
//! seals come off.

use std::collections::{BTreeMap, HashMap};

use super::{PREFIXES, seal, unseal};
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
            "a store stands twice".to_string(),
            "name each store once",
        ));
    }
    let mut set = None;
    for store in stores {
        match stripe_of(*store).await? {
            Some(note) if note.of == of && set.as_ref().is_none_or(|set| *set == note.set) => {
                set = Some(note.set)
            }
            Some(note) => return Err(in_another_set(&note)),
            None => check_empty(*store).await?,
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
/// A store of the set is missing, servers do not stop, or the new store holds something.
pub async fn add_to_set(
    stores: &[&dyn Store],
    new: &dyn Store,
    runtime: &dyn Runtime,
) -> Result<StripeNote, StoreError> {
    let mut places = Vec::with_capacity(stores.len());
    for store in stores {
        let Some(note) = stripe_of(*store).await? else {
            return Err(refused(
                StoreErrorKind::Foreign,
                "a store is no member of a set".to_string(),
                "name every store of the set",
            ));
        };
        places.push((*store, note));
    }
    places.sort_by_key(|(_, note)| note.number);
    let old = u8::try_from(stores.len()).unwrap_or(u8::MAX);
    let of = old.saturating_add(1);
    let whole = places.iter().enumerate().all(|(number, (_, note))| {
        // After a failure half-way some know of the new one.
        usize::from(note.number) == number && (note.of == old || note.of == of) && note.set == places[0].1.set
    });
    let not_whole = || {
        refused(
            StoreErrorKind::Invalid,
            format!("these {old} stores are not a whole set, or there are {STRIPES_MAX} already"),
            "name every store of the set, each once",
        )
    };
    if !whole || of > STRIPES_MAX {
        return Err(not_whole());
    }
    let note = StripeNote {
        set: places[0].1.set.clone(),
        number: old,
        of,
    };
    match stripe_of(new).await? {
        // Who knows of one more learned it after that one: a stranger would get the numbers of a store of the set
        // that was not named.
        None if places.iter().any(|(_, note)| note.of == of) => return Err(not_whole()),
        None => check_empty(new).await?,
        Some(found) if found == note => {}
        Some(found) => return Err(in_another_set(&found)),
    }
    for (store, _) in &places {
        seal(*store, "a store is being added to its set", runtime).await?;
    }
    let all: Vec<&dyn Store> = places.iter().map(|(store, _)| *store).chain([new]).collect();
    // A store that knows of the new one already has been through all this.
    if places.iter().all(|(_, note)| note.of == old) {
        level_sequences(&places, new, old, runtime).await?;
        move_windows(&all, runtime).await?;
        copy_pools(&places, new, runtime).await?;
        copy_restored(&places, new, runtime).await?;
    }
    write_note(new, &note, runtime).await?;
    for (store, place) in &places {
        write_note(*store, &StripeNote { of, ..place.clone() }, runtime).await?;
    }
    for store in &all {
        unseal(*store, runtime).await?;
    }
    Ok(note)
}

/// Makes every sequence go on in all stores above the furthest that any of them has reserved.
async fn level_sequences(
    places: &[(&dyn Store, StripeNote)],
    new: &dyn Store,
    old: u8,
    runtime: &dyn Runtime,
) -> Result<(), StoreError> {
    let mut names: BTreeMap<Key, ()> = BTreeMap::new();
    for (store, _) in places {
        each(*store, "seq/", |key, _| {
            names.insert(key, ());
        })
        .await?;
    }
    for key in names.into_keys() {
        let name = Name::from_key(key.after("seq/"));
        let name =
            name.map_err(|e| refused(StoreErrorKind::Corrupt, e.to_string(), "repair the record first"))?;
        let mut states = Vec::with_capacity(places.len());
        for (store, note) in places {
            let stripe = Stripe {
                number: note.number,
                of: old,
            };
            let found = (*store).get(&key).await?.map(|found| placed(found, stripe));
            let state = found.map(|found| State::read(&name, &found)).transpose();
            let state = state
                .map_err(|e| refused(StoreErrorKind::Corrupt, e.to_string(), "repair the record first"))?;
            states.push(state);
        }
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
