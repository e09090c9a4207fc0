//! What a pool makes, and its stored record.

use std::sync::Arc;
use std::time::Duration;

use mintage::{
    ClockPolicy, GregorianTicks, Layout, LayoutError, Node, Role, SequenceStart, Timestamp, Uuid, uuid1_from,
};
use serde::{Deserialize, Serialize};

use super::choice::WorkerChoice;
use crate::error::LedgerError;
use crate::name::Name;
use crate::store::{Key, Outcome, StoreError, StoreErrorKind, Value};
use mintage_local::workers::{NotWorkers, WorkerRanges};

/// What a pool makes.
#[derive(Clone, PartialEq, Debug)]
pub enum PoolKind {
    /// Ids of a layout; the pool's workers are the layout's.
    Snowflake(Arc<Layout>),
    /// UUID version 1 (and 6): one node for the pool, and its 16,384 clock sequences are the workers.
    Uuid1 {
        /// The node, 48 bits.
        node: u64,
    },
}

/// A pool as asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolSpec {
    /// What it makes.
    pub kind: PoolKind,
    /// How far ahead its windows reach; absent: by the layout (protocol W3).
    pub window: Option<Duration>,
    /// What its generator does when the wall clock goes back; absent: as the ledger is set.
    pub clock_policy: Option<ClockPolicy>,
    /// Which of its workers may be chosen.
    pub workers: WorkerChoice,
}

/// The time of UUID version 1 as a layout: 200 ns ticks of 2 ids each, so that an id of it is the 60-bit
/// timestamp in units of 100 ns since 1582-10-15 (RFC 9562 section 5.1).
fn uuid1_ticks() -> Layout {
    Layout::builder("uuid1")
        .epoch(Timestamp::from_unix_nanos(-12_219_292_800_000_000_000))
        .tick(Duration::from_nanos(200))
        .time("time", 59)
        .sequence("half", 1)
        .build()
        .expect("60 bits with one time and one sequence field")
}

/// How many clock sequences there are (RFC 9562 section 5.1: 14 bits).
const CLOCK_SEQUENCES: u64 = 1 << 14;

impl PoolKind {
    /// A pool of UUID version 1 with a random node: 47 random bits and the multicast bit, which no network
    /// card has (RFC 9562 section 6.10).
    pub fn uuid1(random: [u8; 8]) -> PoolKind {
        PoolKind::Uuid1 {
            node: u64::from_be_bytes(random) >> 16 | 1 << 40,
        }
    }

    /// The word that names the kind: `snowflake` or `uuid1`.
    pub fn as_str(&self) -> &'static str {
        match self {
            PoolKind::Snowflake(_) => "snowflake",
            PoolKind::Uuid1 { .. } => "uuid1",
        }
    }

    /// The layout of its ids in words.
    pub(crate) fn layout_words(&self) -> String {
        match self {
            PoolKind::Snowflake(layout) => layout.spec(),
            PoolKind::Uuid1 { .. } => "uuid1".into(),
        }
    }

    /// The layout of time and counter within one worker.
    pub(crate) fn ticks(&self) -> Arc<Layout> {
        match self {
            PoolKind::Snowflake(layout) => Arc::clone(layout),
            PoolKind::Uuid1 { .. } => Arc::new(uuid1_ticks()),
        }
    }

    pub(crate) fn workers(&self) -> u64 {
        match self {
            PoolKind::Snowflake(layout) => layout.workers(),
            PoolKind::Uuid1 { .. } => CLOCK_SEQUENCES,
        }
    }

    /// Everything that decides which ids collide (protocol W8).
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            PoolKind::Snowflake(layout) => layout.fingerprint(),
            PoolKind::Uuid1 { node } => format!("uuid1/{node:012x}"),
        }
    }

    /// The worker as the generator's layout has it.
    pub(crate) fn generator_worker(&self, worker: u64) -> u64 {
        match self {
            PoolKind::Snowflake(_) => worker,
            PoolKind::Uuid1 { .. } => 0,
        }
    }
}

/// The UUID of version 1 with this timestamp (100 ns since 1582-10-15), clock sequence and node.
pub(crate) fn uuid1(timestamp: u64, clock_seq: u64, node: u64) -> Uuid {
    let [_, _, octets @ ..] = node.to_be_bytes();
    let ticks = GregorianTicks::new(timestamp).expect("an id of the layout has 60 bits");
    let clock_seq = u16::try_from(clock_seq).expect("a worker is below 2^14");
    uuid1_from(ticks, clock_seq, Node::from_octets(octets)).expect("a worker is below 2^14")
}

/// The stored body of a pool; it has no mark.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layout: Option<LayoutBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// Of everything that decides which ids collide.
    fingerprint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clock_policy: Option<String>,
    /// The workers that may be chosen, as ranges; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workers: Option<String>,
    /// Those that may not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    avoid: String,
    /// Where those were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    avoid_from: Option<String>,
    /// It is a tombstone: the windows stay, and so does what their ids were of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dropped: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutBody {
    name: String,
    tick_ns: u64,
    /// As text: it may pass 2^53.
    epoch_unix_ns: String,
    /// Where the sequence of a new tick begins: `zero`, `at:N`, `random:BELOW` or `carry`.
    #[serde(default = "zero", skip_serializing_if = "is_zero")]
    start: String,
    /// Highest first.
    fields: Vec<FieldBody>,
}

fn zero() -> String {
    "zero".into()
}

fn is_zero(start: &str) -> bool {
    start == "zero"
}

fn start_word(start: SequenceStart) -> String {
    match start {
        SequenceStart::Zero => zero(),
        SequenceStart::At(first) => format!("at:{first}"),
        SequenceStart::Random { below } => format!("random:{below}"),
        SequenceStart::Carry => "carry".into(),
    }
}

fn start_of(word: &str) -> Result<SequenceStart, String> {
    let (kind, number) = match word.split_once(':') {
        Some((kind, number)) => (kind, number.parse().ok()),
        None => (word, None),
    };
    match (kind, number) {
        ("zero", None) => Ok(SequenceStart::Zero),
        ("at", Some(first)) => Ok(SequenceStart::At(first)),
        ("random", Some(below)) => Ok(SequenceStart::Random { below }),
        ("carry", None) => Ok(SequenceStart::Carry),
        _ => Err(format!("its sequence starts at {word:?}")),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldBody {
    name: String,
    bits: u32,
    role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<u64>,
}

impl LayoutBody {
    fn of(layout: &Layout) -> LayoutBody {
        let field = |field: &mintage::Field| {
            let (role, value) = match field.role {
                Role::Time => ("time", None),
                Role::Worker => ("worker", None),
                Role::Sequence => ("sequence", None),
                Role::Rollback => ("rollback", None),
                Role::Constant(value) => ("constant", Some(value)),
            };
            FieldBody {
                name: field.name.to_string(),
                bits: field.bits,
                role: role.into(),
                value,
            }
        };
        LayoutBody {
            name: layout.name().to_string(),
            tick_ns: u64::try_from(layout.tick().as_nanos()).unwrap_or(u64::MAX),
            epoch_unix_ns: layout.epoch().unix_nanos().to_string(),
            start: start_word(layout.sequence_start()),
            fields: layout.fields().iter().map(field).collect(),
        }
    }

    fn layout(self) -> Result<Layout, String> {
        let epoch = self
            .epoch_unix_ns
            .parse()
            .map_err(|_| "its epoch is not a number".to_string())?;
        let mut builder = Layout::builder(self.name)
            .epoch(Timestamp::from_unix_nanos(epoch))
            .tick(Duration::from_nanos(self.tick_ns))
            .sequence_start(start_of(&self.start)?);
        for field in self.fields {
            let role = match (field.role.as_str(), field.value) {
                ("time", None) => Role::Time,
                ("worker", None) => Role::Worker,
                ("sequence", None) => Role::Sequence,
                ("rollback", None) => Role::Rollback,
                ("constant", Some(value)) => Role::Constant(value),
                (other, _) => return Err(format!("field {:?} has role {other:?}", field.name)),
            };
            builder = builder.field(field.name, field.bits, role);
        }
        builder.build().map_err(|error: LayoutError| error.to_string())
    }
}

impl From<PoolKind> for PoolSpec {
    /// A pool of this kind, everything else as the ledger is set.
    fn from(kind: PoolKind) -> PoolSpec {
        PoolSpec {
            kind,
            window: None,
            clock_policy: None,
            workers: WorkerChoice::default(),
        }
    }
}

impl PoolSpec {
    pub(crate) fn key(name: &Name) -> Key {
        Key::new(format!("pool/{}", name.to_key())).expect("names are within the key grammar")
    }

    pub(crate) fn write(&self, token: u128) -> Value {
        self.write_as(token, false)
    }

    /// The record of the pool once it is dropped: its windows stay, so that the name made again repeats nothing.
    pub(crate) fn write_tombstone(&self, token: u128) -> Value {
        self.write_as(token, true)
    }

    fn write_as(&self, token: u128, dropped: bool) -> Value {
        let (layout, node) = match &self.kind {
            PoolKind::Snowflake(layout) => (Some(LayoutBody::of(layout)), None),
            PoolKind::Uuid1 { node } => (None, Some(format!("{node:012x}"))),
        };
        let body = Body {
            kind: self.kind.as_str().into(),
            layout,
            node,
            fingerprint: self.kind.fingerprint(),
            window_ms: self
                .window
                .map(|window| u64::try_from(window.as_millis()).unwrap_or(u64::MAX)),
            clock_policy: self.clock_policy.map(|policy| policy.to_string()),
            workers: self.workers.within.as_ref().map(WorkerRanges::to_string),
            avoid: self.workers.avoid.to_string(),
            avoid_from: self.workers.avoid_from.clone(),
            dropped,
        };
        let body = serde_json::to_string(&body).expect("plain fields always serialise");
        Value { mark: 0, token, body }
    }

    /// What a record says the pool is, or was before it was dropped.
    pub(crate) fn read(name: &Name, body: &str) -> Result<PoolSpec, LedgerError> {
        Ok(PoolSpec::read_record(name, body)?.0)
    }

    /// The same, and whether it is dropped.
    pub(crate) fn read_record(name: &Name, body: &str) -> Result<(PoolSpec, bool), LedgerError> {
        let damaged = |why: String| {
            let message = format!("the record of pool {name} cannot be understood: {why}");
            LedgerError::Stopped(StoreError::new(
                StoreErrorKind::Corrupt,
                Outcome::NotDone,
                message,
            ))
        };
        let body: Body = serde_json::from_str(body).map_err(|error| damaged(error.to_string()))?;
        let kind = match (body.kind.as_str(), body.layout, body.node) {
            ("snowflake", Some(layout), None) => {
                PoolKind::Snowflake(Arc::new(layout.layout().map_err(damaged)?))
            }
            ("uuid1", None, Some(node)) => {
                let node = u64::from_str_radix(&node, 16).map_err(|_| damaged(format!("node {node:?}")))?;
                PoolKind::Uuid1 { node }
            }
            (kind, _, _) => return Err(damaged(format!("kind {kind:?}, or a part of it is missing"))),
        };
        if kind.fingerprint() != body.fingerprint {
            return Err(damaged(format!(
                "its fingerprint is {}, its fields say {}",
                body.fingerprint,
                kind.fingerprint()
            )));
        }
        let policy = body.clock_policy.map(|text| text.parse()).transpose();
        let unclear = |error: NotWorkers| damaged(error.to_string());
        let within = body.workers.map(|text| text.parse()).transpose();
        let workers = WorkerChoice {
            within: within.map_err(unclear)?,
            avoid: body.avoid.parse().map_err(unclear)?,
            avoid_from: body.avoid_from,
        };
        let spec = PoolSpec {
            kind,
            window: body.window_ms.map(Duration::from_millis),
            clock_policy: policy.map_err(|error: mintage::NotAClockPolicy| damaged(error.to_string()))?,
            workers,
        };
        Ok((spec, body.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pools_record_reads_back() {
        let presets = mintage::PRESETS
            .iter()
            .map(|preset| PoolKind::Snowflake(Arc::new(preset.layout())));
        for kind in presets.chain([PoolKind::uuid1([0xff; 8])]) {
            let some = WorkerChoice {
                within: Some("0-3,7".parse().unwrap()),
                avoid: "2,7".parse().unwrap(),
                avoid_from: Some("leaf+zookeeper://a:2181/snowflake/x".into()),
            };
            for (window, policy, workers) in [
                (None, None, WorkerChoice::default()),
                (Some(Duration::from_secs(2)), Some(ClockPolicy::Error), some),
            ] {
                let spec = PoolSpec {
                    kind: kind.clone(),
                    window,
                    clock_policy: policy,
                    workers,
                };
                let name = Name::new("eu").unwrap();
                let (record, tombstone) = (spec.write(1).body, spec.write_tombstone(1).body);
                assert_eq!(PoolSpec::read_record(&name, &record), Ok((spec.clone(), false)));
                assert_eq!(PoolSpec::read_record(&name, &tombstone), Ok((spec, true)));
            }
        }
    }

    #[test]
    fn a_record_whose_layout_was_edited_is_refused() {
        let twitter = mintage::preset("twitter").unwrap().layout();
        let spec = PoolSpec::from(PoolKind::Snowflake(Arc::new(twitter)));
        let body = spec.write(1).body.replace("ns\":\"12888", "ns\":\"12889");
        assert!(PoolSpec::read(&Name::new("eu").unwrap(), &body).is_err());
    }

    #[test]
    fn uuid1_puts_its_bits_where_rfc_9562_says() {
        // Appendix A.1.
        let uuid = uuid1(0x1ec_9414_c232_ab00, 0x33c8, 0x9f6b_decd_d846);
        assert_eq!(uuid.to_string(), "c232ab00-9414-11ec-b3c8-9f6bdecdd846");
    }
}
