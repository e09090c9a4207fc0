//! Documents about formats of ids and layouts of Snowflakes.

use mintage::{Family, GenOption, GenOptions, OptionForm, Role, SequenceStart};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{length, shown};

/// The formats there are.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Formats {
    /// All of them.
    pub formats: Vec<Format>,
}

/// A format of ids, with what its randomness is worth.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// Its name in full.
    pub title: &'static str,
    /// What it is, a phrase.
    #[serde(rename = "is")]
    pub summary: &'static str,
    /// How long it is as bytes; 0: it is text alone.
    pub bits: u32,
    /// How long it is as text.
    pub characters: Characters,
    /// The time that it holds; `null`: none.
    pub time: Option<FormatTime>,
    /// Whether its texts sort by time.
    pub text_sorts: bool,
    /// Whether its bytes do.
    pub bytes_sort: bool,
    /// What makes it unique.
    pub unique: &'static str,
    /// What it reveals to a reader.
    pub tells: &'static str,
    /// How many of its bits are random, to two digits after the point.
    pub random_bits: f64,
    /// How many ids it takes for a chance of one repeat; `null` without random bits.
    pub ids_until_repeat: Option<UntilRepeat>,
    /// Its own options: parameters of HTTP and the Redis protocol, and with `-` for `_` options of the command.
    pub options: Vec<String>,
    /// Whether a server makes it.
    pub made: bool,
    /// What can be asked of it.
    pub verbs: Vec<&'static str>,
    /// Its bits as a drawing.
    pub diagram: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// The command that makes one, or shows what one says.
    pub command: String,
}

/// How many characters a text has.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Characters {
    /// At least.
    pub min: usize,
    /// At most.
    pub max: usize,
}

/// The time that ids of a format hold.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct FormatTime {
    /// The length of its tick in words: `1 ms`.
    pub tick: String,
    /// The same in nanoseconds.
    pub tick_ns: String,
    /// The first time, in RFC 3339.
    pub first: String,
    /// The same in nanoseconds since 1970.
    pub first_unix_ns: String,
    /// The last time.
    pub last: String,
    /// The same in nanoseconds since 1970.
    pub last_unix_ns: String,
    /// How many digits after the second are real.
    pub digits: u8,
}

/// How many ids it takes for a chance that two are equal, to three digits.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct UntilRepeat {
    /// For one in a billion.
    #[serde(rename = "1e-9")]
    pub billionth: f64,
    /// For one in a hundred.
    #[serde(rename = "1%")]
    pub hundredth: f64,
    /// For one in two.
    #[serde(rename = "50%")]
    pub half: f64,
}

/// The known layouts.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Presets {
    /// All of them.
    pub presets: Vec<Preset>,
}

/// A known layout of Snowflakes.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Whose it is, a phrase.
    pub note: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// How many bits its ids have.
    pub bits: u32,
    /// Its fields, the highest bits first.
    pub fields: Vec<PresetField>,
    /// The length of its tick in nanoseconds.
    pub tick_ns: String,
    /// Where its time begins, in RFC 3339.
    pub epoch: String,
    /// When its time field is full.
    pub ends: String,
    /// How many workers it has.
    pub workers: u64,
    /// Where the sequence of a new tick begins, in words.
    pub sequence_start: String,
    /// What the original does when the clock goes back.
    pub original_clock: String,
    /// The layout as text: what a pool's `layout` takes.
    pub spec: String,
}

/// A field of a layout.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct PresetField {
    /// Its name.
    pub name: String,
    /// How many bits it has.
    pub bits: u32,
    /// How many stand below it.
    pub shift: u32,
    /// What it is for: `time`, `worker`, `sequence`, `rollback` or `constant`.
    pub role: &'static str,
}

/// A format, with what its randomness is worth: how many ids it takes for a chance of one repeat.
///
/// ```
/// let shown = mintage_wire::Format::from(mintage::format("uuid4").expect("a format"));
/// assert_eq!((shown.bits, shown.random_bits), (128, 122.0));
/// assert_eq!(shown.ids_until_repeat.map(|ids| ids.half), Some(2.71e18));
/// ```
impl From<&mintage::Format> for Format {
    fn from(row: &mintage::Format) -> Format {
        let random_bits = row.entropy_bits(&GenOptions::default());
        let ids = |chance| three_digits(mintage::ids_until_repeat(random_bits, chance));
        Format {
            name: row.name,
            aliases: row.aliases,
            title: row.title,
            summary: row.summary,
            bits: row.bits,
            characters: Characters {
                min: row.text_len.0,
                max: row.text_len.1,
            },
            time: row.time.map(|time| FormatTime {
                tick: length(time.tick),
                tick_ns: time.tick.as_nanos().to_string(),
                first: shown(time.first),
                first_unix_ns: time.first.unix_nanos().to_string(),
                last: shown(time.last),
                last_unix_ns: time.last.unix_nanos().to_string(),
                digits: time.digits,
            }),
            text_sorts: row.text_sorts,
            bytes_sort: row.bytes_sort,
            unique: row.unique,
            tells: row.tells,
            random_bits: (random_bits * 100.0).round() / 100.0,
            ids_until_repeat: (random_bits > 0.0).then(|| UntilRepeat {
                billionth: ids(1e-9),
                hundredth: ids(0.01),
                half: ids(0.5),
            }),
            options: row.options.iter().map(|option| parameter(*option)).collect(),
            made: is_made(row),
            verbs: verbs(row),
            diagram: row.diagram,
            source: row.source,
            command: command_of(row),
        }
    }
}

impl From<&mintage::Preset> for Preset {
    fn from(row: &mintage::Preset) -> Preset {
        let layout = row.layout();
        let field = |field: &mintage::Field| PresetField {
            name: field.name.to_string(),
            bits: field.bits,
            shift: field.shift,
            role: role(field.role),
        };
        Preset {
            name: row.name,
            note: row.note,
            source: row.source,
            bits: layout.bits(),
            fields: layout.fields().iter().map(field).collect(),
            tick_ns: layout.tick().as_nanos().to_string(),
            epoch: shown(layout.epoch()),
            ends: shown(layout.end()),
            workers: layout.workers(),
            sequence_start: sequence_start(layout.sequence_start()),
            original_clock: row.original_clock.to_string(),
            spec: layout.spec(),
        }
    }
}

/// Whether a server makes the ids of a format.
pub fn is_made(row: &mintage::Format) -> bool {
    // What is made of leased windows, by a server and not by core alone.
    let is_leased = matches!(row.family, Family::Snowflake | Family::Uuid(None | Some(1 | 6)));
    row.can_make() || is_leased
}

/// The parameter of requests that chooses an option.
pub fn parameter(option: GenOption) -> String {
    option.name().replace('-', "_")
}

/// The command that makes an id of a format, with the options of its example; or that shows what one says.
///
/// ```
/// use mintage_wire::command_of;
/// let of = |name| command_of(mintage::format(name).expect("a format"));
/// assert_eq!((of("ulid"), of("uuid7")), ("mint gen ulid".into(), "mint uuid".into()));
/// assert_eq!(of("uuid5"), "mint uuid v5 --namespace dns www.example.com");
/// ```
pub fn command_of(row: &mintage::Format) -> String {
    let with_example = |command: String| {
        row.example
            .iter()
            .fold(command, |line, (option, text)| match option.form() {
                OptionForm::Flag => format!("{line} --{}", option.name()),
                _ if *option == GenOption::Name => format!("{line} {text}"),
                _ => format!("{line} --{} {text}", option.name()),
            })
    };
    let name = row.name;
    let command = match row.family {
        Family::Uuid(None | Some(7)) => "uuid".into(),
        Family::Uuid(Some(8)) => with_example("uuid v8 --sha256".into()),
        Family::Uuid(Some(version)) => with_example(format!("uuid v{version}")),
        Family::Snowflake => "snowflake".into(),
        Family::Sequence => "seq next NAME".into(),
        _ if row.can_make() => with_example(format!("gen {name}")),
        _ if mintage::preset(name).is_some() => [
            "snowflake --preset",
            name,
            "| mint convert --from dec --to",
            name,
            "-",
        ]
        .join(" "),
        _ => format!("inspect --as {name} ID"),
    };
    ["mint", &command].join(" ")
}

/// Rounded down to three decimal digits.
pub fn three_digits(number: f64) -> f64 {
    if number < 1000.0 {
        return number.floor();
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let kept = &digits[..digits.len().min(4)];
    format!("{kept}e{exponent}").parse().unwrap_or(number)
}

/// What can be asked of a format.
pub fn verbs(row: &mintage::Format) -> Vec<&'static str> {
    let all = [
        ("make", row.can_make()),
        ("make-at", row.can_make_at()),
        ("range", row.can_bound()),
        ("inspect", true),
        ("check", true),
        ("lenient", row.has_lenient()),
    ];
    all.into_iter()
        .filter(|(_, can)| *can)
        .map(|(verb, _)| verb)
        .collect()
}

/// Where the sequence of a new tick begins, in words.
pub fn sequence_start(start: SequenceStart) -> String {
    match start {
        SequenceStart::Zero => "zero".into(),
        SequenceStart::At(first) => format!("at {first}"),
        SequenceStart::Random { below } => format!("random below {below}"),
        SequenceStart::Carry => "carry".into(),
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Time => "time",
        Role::Worker => "worker",
        Role::Sequence => "sequence",
        Role::Rollback => "rollback",
        Role::Constant(_) => "constant",
    }
}
