//! Keys of CosId's segments: its distributor over Redis counts in `cosid:{NAMESPACE.NAME}.adder`, its proxy asks for
//! `NAMESPACE.NAME`, and both are one counter. So both are one sequence here: the one that `faces.cosid` names.
//!
//! This is the only place where a key of our own port is another name. It is looked at before rights, queues and the audit
//! trail, so that all of them know the sequence alone.

use std::ops::Range;

use mintage_ledger::source::cosid_segment;

use super::CommandRow;
use crate::config::Keys;
use crate::faces::resp::frame::{Args, strict_integer};

/// What all such keys begin with.
const BEGIN: &[u8] = b"cosid:{";

/// A request whose keys are names.
pub(super) struct Named {
    bytes: Vec<u8>,
    ranges: Vec<Range<u32>>,
}

/// Whether a key of a request may be one of CosId's.
#[inline]
pub(super) fn may_have_some(row: &CommandRow, args: Args<'_>) -> bool {
    keys_of(row, args).any(|at| args.at(at).starts_with(BEGIN))
}

/// Where the keys of a request stand.
#[inline]
fn keys_of(row: &CommandRow, args: Args<'_>) -> impl Iterator<Item = usize> + use<> {
    let (first, last, step) = match row.keys {
        (0, ..) if row.group == "scripting" && args.len() > 3 => {
            let keys = strict_integer(args.at(2)).and_then(|keys| usize::try_from(keys).ok());
            (3, keys.unwrap_or(0).min(args.len() - 3) + 2, 1)
        }
        (0, ..) => (1, 0, 1),
        (first, last, step) => {
            let last = if last < 0 { args.len() as i32 + last } else { last };
            (first.max(0) as usize, last.max(0) as usize, step.max(1) as usize)
        }
    };
    (first..=last).step_by(step)
}

impl Named {
    /// The request with the names of sequences in place of CosId's keys.
    pub(super) fn of(row: &CommandRow, args: Args<'_>, keys: &Keys) -> Named {
        let is_key = |at: usize| keys_of(row, args).any(|key| key == at);
        let (mut bytes, mut ranges) = (Vec::new(), Vec::with_capacity(args.len()));
        for (at, arg) in args.from(0).enumerate() {
            let begin = bytes.len() as u32;
            match cosid_segment(arg).filter(|_| is_key(at)) {
                Some(segment) => bytes.extend(name_of(segment, keys)),
                None => bytes.extend_from_slice(arg),
            }
            ranges.push(begin..bytes.len() as u32);
        }
        Named { bytes, ranges }
    }

    pub(super) fn args(&self) -> Args<'_> {
        Args::new(&self.bytes, &self.ranges)
    }
}

/// The name of a segment's sequence, however long: as the face names it.
fn name_of(segment: &[u8], keys: &Keys) -> Vec<u8> {
    let text = std::str::from_utf8(segment).ok();
    match text.and_then(|text| keys.names.0.get(text)) {
        Some(listed) => listed.as_str().as_bytes().to_vec(),
        None => [keys.prefix.0.as_bytes(), segment].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::COMMANDS;
    use super::*;
    use crate::config::Setting;

    /// What a request becomes; as it is, where no key of it is CosId's.
    fn named(words: &[&str], keys: &Keys) -> String {
        let (mut bytes, mut ranges) = (Vec::new(), Vec::new());
        for word in words {
            let begin = bytes.len() as u32;
            bytes.extend_from_slice(word.as_bytes());
            ranges.push(begin..bytes.len() as u32);
        }
        let args = Args::new(&bytes, &ranges);
        let row = COMMANDS.iter().find(|row| row.name == words[0]).unwrap();
        if !may_have_some(row, args) {
            return words.join(" ");
        }
        let named = Named::of(row, args, keys);
        let words = named
            .args()
            .from(0)
            .map(|arg| String::from_utf8_lossy(arg).into_owned());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_of_segments_are_the_sequences_of_the_face() {
        let keys = &Keys {
            prefix: Setting::parse("cosid:").unwrap(),
            names: Setting::parse("{ \"shop.bills\" = \"bills\" }").unwrap(),
            create: false,
        };
        for (request, becomes) in [
            ("incrby cosid:{shop.a}.adder 100", "incrby cosid:shop.a 100"),
            ("incr cosid:{shop.bills}.adder", "incr bills"),
            (
                "mget k cosid:{shop.a}.adder cosid:{shop.b}.adder",
                "mget k cosid:shop.a cosid:shop.b",
            ),
            ("set cosid:{shop.a}.adder 7 nx", "set cosid:shop.a 7 nx"),
            ("del cosid:{shop.a}.adder", "del cosid:shop.a"),
            ("eval text 1 cosid:{shop.a}.adder 5", "eval text 1 cosid:shop.a 5"),
            // Machines are no counters, other places are no keys, other keys are names.
            ("incr cosid:{shop}:adder", "incr cosid:{shop}:adder"),
            ("echo cosid:{shop.a}.adder", "echo cosid:{shop.a}.adder"),
            (
                "eval text 0 cosid:{shop.a}.adder",
                "eval text 0 cosid:{shop.a}.adder",
            ),
            ("incr cosid:shop.a", "incr cosid:shop.a"),
        ] {
            let words: Vec<&str> = request.split(' ').collect();
            assert_eq!(named(&words, keys), becomes, "{request}");
        }
    }

    #[test]
    fn nothing_that_is_sent_instead_of_a_request_panics() {
        for row in COMMANDS {
            for rest in [
                "",
                "cosid:{",
                "x 99999 cosid:{a.b}.adder",
                "x -1 cosid:{a.b}.adder",
                "cosid:{a.b}.adder",
            ] {
                let words: Vec<&str> = [row.name].into_iter().chain(rest.split(' ')).collect();
                named(&words, &Keys::default());
            }
        }
    }
}
