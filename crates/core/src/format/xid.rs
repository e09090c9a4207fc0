//! xid: seconds, process and counter in 20 characters.
//!
//! ```text
//! | timestamp_s 32 | machine 24 | pid 16 | counter 24 |   (12 bytes, base32hex)
//! ```
//!
//! `timestamp_s` counts unsigned seconds since 1970 and lasts until 2106. `machine` and `pid` are, unlike in the
//! original, 40 random bits of the process: they say nothing about the host, and containers with equal names
//! and process ids do not meet. The text is base32hex in lower case; its last character holds one bit, so it is
//! `0` or `g` (rs/xid, README and id.go).
//!
//! Rare events. *Counter full*: it carries into the second, at most 10 s ahead of the clock, where the original
//! wraps and repeats ids above 16.7 million a second. *Clock back*: the last second is held, as far. *Fork*: the
//! child draws another process number.

use super::base32::{Letters, decode_96, encode_96};
use super::counted::{SECONDS, at, counted_format, random_at};
use super::{BLANK, Details, Format, GenOptions, Id};
use crate::text::TextError;

pub(super) const XID: Format = Format {
    name: "xid",
    title: "xid",
    summary: "seconds, process and counter, in 20 characters",
    unique: "40 random bits of the process, and a counter that carries: within a process it never repeats",
    tells: "when, to the second, and roughly how many were made in it",
    likely: |_, _, _| 0.9,
    source: "rs/xid, README and id.go of 1.6",
    diagram: "| timestamp_s 32 | machine 24 | pid 16 | counter 24 |",
    bits: 96,
    text_len: (20, 20),
    time: Some(SECONDS),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 63.0,
    parse: |text, _| Xid::parse(text).map(Id::from),
    write: |id, out| out.extend_from_slice(&Xid::of(id).text()),
    read: |id, _| {
        let id = Xid::of(id);
        let [_, _, _, _, machine @ .., a, b, _, _, _] = id.0;
        Details::new(Some(SECONDS.time_of(id.timestamp().into())))
            .number("timestamp_s", id.timestamp().into(), 32)
            .hex("machine", &machine)
            .number("pid", u16::from_be_bytes([a, b]).into(), 16)
            .number("counter", id.counter().into(), 24)
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| {
        super::value::through(out, |ids| fill_by(from.clock, from.generators, ids))
    }),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| super::value::lines(count, out, xid_many)),
    make_at: Some(|time, _, entropy| Ok(Xid(random_at(time, entropy)?).into())),
    min_at: Some(|time, _| Ok(Xid(at(time, 0, 0)?).into())),
    max_at: Some(|time, _| Ok(Xid(at(time, u64::MAX, u64::MAX)?).into())),
    generator: Some(|_: &GenOptions, clock, entropy| {
        let mut generator = XidGenerator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

counted_format! {
    /// An xid: 12 bytes, 20 characters of base32hex in lower case.
    ///
    /// ```
    /// use mintage::{TextError, Xid};
    /// let id: Xid = "9m4e2mr0ui3e8a215n4g".parse()?; // the original's README
    /// assert_eq!((id.timestamp(), id.counter()), (1_300_816_219, 4_271_561));
    /// assert_eq!(Xid::parse(b"9m4e2mr0ui3e8a215n4h").unwrap_err().position(), Some(19)); // unused bits
    /// # Ok::<(), TextError>(())
    /// ```
    Xid, 20;
    /// Makes xids from a clock and an entropy source of your choice; no state outside itself.
    ///
    /// Strictly increasing; a full counter carries into the second and a clock that goes back is held, both at
    /// most `max_ahead` ahead of the clock. The 40 bits of the process are drawn once: after `fork` a child makes
    /// its own generator.
    ///
    /// ```
    /// use mintage::{FixedClock, SystemEntropy, Timestamp, XidGenerator};
    /// let clock = FixedClock(Timestamp::from_unix_millis(1_300_816_219_000));
    /// let mut generator = XidGenerator::new(clock, SystemEntropy).process([0x60, 0xf4, 0x86, 0xe4, 0x28]);
    /// let (a, b) = (generator.next_id()?, generator.next_id()?);
    /// assert!(a < b && a.to_string().starts_with("9m4e2mr0ui3e8"));
    /// # Ok::<(), mintage::MintError>(())
    /// ```
    XidGenerator;
    /// A new xid. Thread-safe, fork-safe, and strictly increasing over all threads of the process.
    ///
    /// # Errors
    /// The clock stands past 2106 or went back by more than 10 s, or more than 16.7 million ids a second ran 10 s
    /// ahead of it.
    ///
    /// ```
    /// let (a, b) = (mintage::xid()?, mintage::xid()?);
    /// assert!(a < b && a.to_string() < b.to_string());
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    xid, xid;
    /// Fills `out` with new xids, strictly increasing, with one clock reading.
    ///
    /// # Errors
    /// As [`xid`]; nothing was written.
    xid_many
}

#[inline]
fn encode(bytes: &[u8; 12], out: &mut [u8; 20]) {
    encode_96(bytes, Letters::Hex, out);
}

fn decode(text: &[u8]) -> Result<[u8; 12], TextError> {
    decode_96(text, Letters::Hex)
}
