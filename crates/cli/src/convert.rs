//! `mint convert`: the same id in another form.

use mintage::{
    CONFIDENCE_LEAST, Clock, Family, FieldsText, Format, GenOption, GenOptions, Id, Layout, Reading,
    SnowflakeText, SystemClock, Uuid, UuidOrder, UuidText, damage, fault, inspect, unwrapped, uuid1_to_6,
    uuid6_to_1, uuid7_of_ulid,
};
use mintage_wire::readings::ReadAs;
use serde_json::json;

use crate::column::ColumnArgs;
use crate::errors::Failure;
use crate::format_options::FormatOptions;
use crate::lines::{Origin, shown};
use crate::out::Out;

#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// What to make of them: a text form, a format with as many bits, or a database's byte order
    #[arg(long, value_name = "FORM", value_parser = target)]
    to: Target,
    /// What they are; without it, what mint inspect finds, if that is beyond doubt
    #[arg(long, value_name = "FORM", value_parser = target)]
    from: Option<Target>,
    /// Ids; -, or none where something is piped in, reads them from standard input, one per line, and answers each
    /// with one line. With --column: files
    #[arg(value_name = "ID|-", allow_negative_numbers = true)]
    ids: Vec<String>,
    #[command(flatten)]
    column: ColumnArgs,
    #[command(flatten)]
    options: FormatOptions,
}

fn after_help() -> String {
    let names = |list: Vec<&str>| list.join(", ");
    format!(
        "Forms:\n  of 128 bits  {}\n  of 64 bits   {}\n               those of 64 bits write numbers of a wide --layout, too\n  of a layout  {} (with --layout or --preset)\n  formats      {}\n  bytes        {} (as hexadecimal)\n\n\
         base32 is Crockford's of the number, right-aligned, as ULID has it; base32human is Crockford's of the bits, \
         left-aligned. A ULID and a UUID are the same 128 bits; --to uuid7 gives up 6 of them for version and \
         variant.\n\n\
         Examples:\n  mint convert --to uuid6 c232ab00-9414-11ec-b3c8-9f6bdeced846\n  mint convert --to uuid \
         01ARZ3NDEKTSV4RRFFQ69G5FAV\n  mint convert --to base58 017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n  mint convert \
         --from mysql-swap --to uuid 11EC9414C232AB00B3C89F6BDECED846\n  mint convert --to base62 - < ids.txt\n \
          mint convert --to uuid --column id orders.csv.gz",
        names(
            UuidText::ALL
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| *name != "raw")
                .collect()
        ),
        names(SnowflakeText::ALL.iter().map(|(name, _)| *name).collect()),
        names(FieldsText::ALL.iter().map(|(name, _)| *name).collect()),
        names(
            mintage::FORMATS
                .iter()
                .filter(|row| row.bits > 0)
                .map(|row| row.name)
                .collect()
        ),
        names(UuidOrder::ALL.iter().map(|(name, _)| *name).collect()),
    )
}

/// What an id can be turned into; a name may mean a form of 128 bits and one of 64.
#[derive(Clone, Copy, Debug)]
struct Target {
    name: &'static str,
    long: Option<UuidText>,
    short: Option<SnowflakeText>,
    format: Option<&'static Format>,
    order: Option<UuidOrder>,
    fields: Option<FieldsText>,
}

impl Target {
    /// Whether only ids of 128 bits have this form.
    fn is_long_alone(&self) -> bool {
        let of_128 = |format: &&Format| format.bits == 128;
        (self.long.is_some() || self.order.is_some() || self.format.as_ref().is_some_and(of_128))
            && self.short.is_none()
            && self.fields.is_none()
    }
}

/// Reads a name.
fn target(text: &str) -> Result<Target, String> {
    let named = |name: &'static str| Target {
        name,
        long: UuidText::from_name(name).filter(|form| *form != UuidText::Raw),
        short: SnowflakeText::from_name(name),
        format: mintage::format(name).filter(|row| row.bits > 0),
        order: UuidOrder::from_name(name),
        fields: FieldsText::from_name(name),
    };
    let format = mintage::FORMATS
        .iter()
        .flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()));
    let names = UuidText::ALL.iter().map(|(name, _)| *name);
    let names = names.chain(SnowflakeText::ALL.iter().map(|(name, _)| *name));
    let mut names = names
        .chain(UuidOrder::ALL.iter().map(|(name, _)| *name))
        .chain(FieldsText::ALL.iter().map(|(name, _)| *name))
        .chain(format);
    let found = names.find(|name| *name == text).map(named);
    found
        .filter(|t| {
            let is_form = t.long.is_some() || t.short.is_some() || t.fields.is_some();
            is_form || t.format.is_some() || t.order.is_some()
        })
        .ok_or_else(|| "no such form; mint convert --help lists them".into())
}

/// An id on its way.
struct Source {
    format: &'static str,
    id: Id,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let options = args.options.all()?;
    let lossy = args
        .to
        .format
        .is_some_and(|row| row.family == Family::Uuid(Some(7)));
    let mut failed = false;
    let mut changed = false;
    args.column.for_each(&args.ids, out, |id, place, out| {
        let (id, done) = match id {
            Ok(id) => (id, read(id, args.from, args.to, &options)),
            Err(why) => ("", Err(Why::new(why))),
        };
        let done = done.and_then(|source| {
            changed |= lossy && source.format != "uuid";
            write(&source, args.to, &options)
        });
        failed |= done.is_err();
        match done {
            Ok(text) if out.json => out.json_line(&json!({"input": id, "output": text})),
            Ok(text) => out.line(text),
            Err(why) if out.json => out.json_line(&json!({"input": id, "error": why.text, "hint": why.hint})),
            // What is asked for one by one fails as other commands do; in a stream, every line has its line.
            Err(why) if !place.is_line() => {
                let failure = Failure::usage(format_args!("{}: {}", shown(id), why.text));
                Err(failure.with_hint_if(why.hint))
            }
            Err(why) => {
                let Origin::Line(line) = place else {
                    unreachable!("arguments were handled")
                };
                out.note(format!("line {line}: {}: {}", shown(id), why.text));
                out.line("")
            }
        }
    })?;
    if changed {
        out.note("note: version and variant took 6 random bits of each id; there is no way back");
    }
    if failed {
        out.flush()?;
        return Err(Failure::Negative);
    }
    Ok(())
}

/// Why an id could not be converted.
struct Why {
    text: String,
    hint: Option<String>,
}

impl Why {
    fn new(text: impl Into<String>) -> Why {
        Why {
            text: text.into(),
            hint: None,
        }
    }

    fn hint(self, hint: impl Into<String>) -> Why {
        Why {
            hint: Some(hint.into()),
            ..self
        }
    }
}

fn read(text: &str, from: Option<Target>, to: Target, options: &GenOptions) -> Result<Source, Why> {
    match from {
        Some(from) => read_as(text.trim(), from, to, options).or_else(|why| match unwrapped(text) {
            // As a tool prints it.
            Some(found) => read_as(&found.text, from, to, options),
            None => Err(why),
        }),
        None if options.layout.as_ref().is_some_and(|layout| layout.is_wide()) => {
            of_wide_layout(text, options)
        }
        None => guess(text),
    }
}

fn read_as(text: &str, from: Target, to: Target, options: &GenOptions) -> Result<Source, Why> {
    let bytes = text.as_bytes();
    let told = |error: mintage::TextError| Why::new(format!("as {}: {error}", from.name));
    if let Some(order) = from.order {
        let stored = UuidText::Simple.read_lenient(bytes).map_err(told)?;
        let id = order.from_stored(stored.into_bytes());
        return Ok(Source {
            format: "uuid",
            id: id.into(),
        });
    }
    if let Some(format) = from.format {
        let id = format
            .parse(bytes, options)
            .or_else(|error| format.parse_lenient(bytes, options).map_err(|_| error));
        let name = match format.family {
            Family::Uuid(_) => "uuid",
            _ => format.name,
        };
        return Ok(Source {
            format: name,
            id: id.map_err(told)?,
        });
    }
    if let Some((number, layout)) = number_of_layout(bytes, from, options) {
        let decimal = number.map_err(told)?.to_string();
        return of_wide_layout(&decimal, options).map_err(|_| {
            Why::new(format!(
                "as {}: {decimal} is not an id of layout {}",
                from.name,
                layout.name()
            ))
        });
    }
    if from.fields.is_some() {
        return Err(needs_layout(from));
    }
    // A name of two forms: the longer one, if the text is long enough or what it is to be has as many bits.
    let is_number = from.short.is_some() && to.is_long_alone();
    let long = from.long.map(|form| match form.read_lenient(bytes) {
        Err(error) if is_number => of_fewer_digits(text, form).unwrap_or(Err(error)),
        read => read,
    });
    let short = from.short.map(|form| form.read_lenient(bytes));
    let is_long = text.len() > 13 || to.is_long_alone();
    match (long, short) {
        (Some(Ok(id)), short) if !matches!(short, Some(Ok(_))) || is_long => Ok(Source {
            format: "uuid",
            id: id.into(),
        }),
        (_, Some(Ok(id))) => Ok(Source {
            format: "snowflake",
            id: id.into(),
        }),
        (Some(Ok(id)), _) => Ok(Source {
            format: "uuid",
            id: id.into(),
        }),
        (Some(Err(error)), _) | (None, Some(Err(error))) => Err(told(error)),
        (None, None) => Err(Why::new(format!("{} can only be written", from.name))),
    }
}

/// The number that so many digits are, with the zeros in front that the form has and the text lacks.
fn of_fewer_digits(text: &str, form: UuidText) -> Option<Result<Uuid, mintage::TextError>> {
    use UuidText::{Base2, Base32, Base36, Base58, Base62};
    let mut all = Vec::new();
    form.write(&Uuid::nil(), &mut all);
    let zeros = all.len().checked_sub(text.len())?;
    let is_of_digits = matches!(form, Base2 | Base32 | Base36 | Base58 | Base62);
    let padded = [all.get(..zeros)?, text.as_bytes()].concat();
    (is_of_digits && !text.is_empty()).then(|| form.read_lenient(&padded))
}

/// The number that a form of numbers or of fields holds of an id of the layout in the options: of any layout where it
/// has the fields apart, and of a wide one otherwise.
fn number_of_layout<'a>(
    text: &[u8],
    from: Target,
    options: &'a GenOptions,
) -> Option<(Result<u128, mintage::TextError>, &'a Layout)> {
    let layout = options.layout.as_deref()?;
    let fields = from.fields.map(|form| form.read(text, layout));
    let number = || Some(from.short.filter(|_| layout.is_wide())?.read_wide(text));
    Some((fields.or_else(number)?, layout))
}

/// An id of the wide layout in the options, as `mint inspect` reads it there.
fn of_wide_layout(text: &str, options: &GenOptions) -> Result<Source, Why> {
    let layout = GenOptions {
        layout: options.layout.clone(),
        ..GenOptions::default()
    };
    let read_as =
        ReadAs::new(None, layout).map_err(|_| Why::new("the layout cannot be read with these options"))?;
    let found = read_as.inspect(text, SystemClock.now());
    match (found.readings.into_iter().next(), found.refusal) {
        (Some(reading), _) => Ok(Source {
            format: "snowflake",
            id: reading.id,
        }),
        (None, refusal) => Err(Why::new(refusal.map_or_else(String::new, |(_, why)| why))),
    }
}

fn needs_layout(form: Target) -> Why {
    Why::new(format!(
        "{} has the fields of a layout apart, and none is named",
        form.name
    ))
    .hint("--preset NAME or --layout LAYOUT names it")
}

/// What `mint inspect` finds, if nothing else comes near.
fn guess(text: &str) -> Result<Source, Why> {
    let mut readings = inspect(text, SystemClock.now());
    // What nothing here makes has no other form either.
    readings.retain(|reading| mintage::format(reading.format).is_some());
    let name = |reading: &Reading| match reading.form {
        Some(form) => format!("{} in {form}", reading.format),
        None => reading.format.to_string(),
    };
    if let Some(damage) = damage(text).filter(|damage| !damage.whole) {
        return Err(Why::new(format!("damaged: {}", damage.words)));
    }
    let Some(first) = readings
        .first()
        .filter(|first| first.confidence >= CONFIDENCE_LEAST)
    else {
        return Err(Why::new(fault(text)).hint("--from FORM says what it is"));
    };
    // Numbers are the same number whatever layout they have.
    let number =
        |reading: &Reading| reading.form.is_none() && matches!(reading.format, "snowflake" | "sequence");
    let rival = readings
        .iter()
        .find(|other| other.id != first.id && other.confidence > first.confidence / 2.0);
    if let Some(rival) = rival.filter(|rival| !(number(first) && number(rival))) {
        return Err(
            Why::new(format!("can be {} or {}", name(first), name(rival))).hint("--from FORM says which")
        );
    }
    if first.confidence < 0.4 && !number(first) {
        return Err(
            Why::new(format!("may be {}, but that is not certain", name(first)))
                .hint("--from FORM says what it is"),
        );
    }
    // A sequence's number as 64 bits; negative ones have no other form.
    let id = match (first.format, first.id.number()) {
        ("sequence", Some(bits)) if bits >= 1 << 63 => Id::from(bits as u64 ^ 1 << 63),
        _ => first.id.clone(),
    };
    let format = if number(first) { "snowflake" } else { first.format };
    Ok(Source { format, id })
}

fn write(source: &Source, to: Target, options: &GenOptions) -> Result<String, Why> {
    let mut out = Vec::new();
    let text = |out: Vec<u8>| Ok(String::from_utf8_lossy(&out).into_owned());
    let bits = source.id.bytes().len() * 8;
    if let Some(format) = to.format {
        return write_format(source, format, options);
    }
    if let (Some(form), Some(number)) = (
        to.fields,
        source.id.number().filter(|_| source.format == "snowflake"),
    ) {
        let layout = options.layout.as_deref().ok_or_else(|| needs_layout(to))?;
        let id = layout.unpack_wide(number);
        id.map_err(|error| Why::new(error.to_string()))?;
        form.write(number, layout, &mut out);
        return text(out);
    }
    if let (Some(form), Some(number)) = (to.short, source.id.number())
        && source.format == "snowflake"
        && bits > 64
    {
        let bits = options
            .layout
            .as_ref()
            .map_or(bits as u32, |layout| layout.bits());
        form.write_wide(number, bits, &mut out);
        return text(out);
    }
    match (source.id.uuid(), <[u8; 8]>::try_from(source.id.bytes())) {
        (Some(id), _) => {
            if let Some(form) = to.long {
                form.write(&id, &mut out);
                return text(out);
            }
            if let Some(order) = to.order {
                let stored = order.stored(&id).ok_or_else(|| {
                    Why::new(format!(
                        "{} refuses version 8 and above with such a variant",
                        to.name
                    ))
                })?;
                UuidText::Simple.write(&Uuid::from_bytes(stored), &mut out);
                return text(out);
            }
        }
        (None, Ok(number)) => {
            if let Some(form) = to.short {
                form.write(u64::from_be_bytes(number), &mut out);
                return text(out);
            }
        }
        (None, Err(_)) => {}
    }
    Err(Why::new(format!(
        "a {} has {bits} bits, which {} cannot write",
        source.format, to.name
    )))
}

fn write_format(source: &Source, format: &'static Format, options: &GenOptions) -> Result<String, Why> {
    let told = |error: mintage::UuidError| Why::new(error.to_string());
    let id = match (source.id.uuid(), format.family) {
        (Some(id), Family::Uuid(Some(6))) => Id::from(match version(&id) {
            6 => id,
            _ => uuid1_to_6(&id).map_err(|e| told(e).hint("only version 1 has a version 6"))?,
        }),
        (Some(id), Family::Uuid(Some(1))) => Id::from(match version(&id) {
            1 => id,
            _ => uuid6_to_1(&id).map_err(|e| told(e).hint("only version 6 has a version 1"))?,
        }),
        (Some(id), Family::Uuid(Some(7)))
            if !matches!(source.format, "uuid" | "snowflake") || version(&id) == 7 =>
        {
            uuid7_of_ulid(&id).into()
        }
        (Some(_), Family::Uuid(Some(_))) => {
            return Err(Why::new(format!(
                "a {} has no {}: it is made otherwise",
                source.format, format.name
            )));
        }
        (Some(_), _) if format.options.contains(&GenOption::Prefix) => {
            with_prefix(&source.id, format, options)?
        }
        _ => source.id.clone(),
    };
    let mut out = Vec::new();
    match format.write(&id, &mut out) {
        Ok(())
            if source.id.uuid().is_none()
                && format.family != Family::Snowflake
                && out.len() > format.text_len.1 =>
        {
            Err(Why::new(format!(
                "the number is larger than a {}, which has {} characters at most",
                format.name, format.text_len.1
            )))
        }
        Ok(()) => Ok(String::from_utf8_lossy(&out).into_owned()),
        Err(_) => Err(Why::new(format!(
            "a {} has {} bits, a {} has {}",
            source.format,
            id.bytes().len() * 8,
            format.name,
            format.bits
        ))),
    }
}

/// A TypeID of these bits: the text of the bare one with the prefix in front, read again.
fn with_prefix(id: &Id, format: &'static Format, options: &GenOptions) -> Result<Id, Why> {
    let mut bare = Vec::new();
    let refused = |error: &dyn std::fmt::Display| Why::new(error.to_string());
    format
        .write(&Id::from(id.uuid().unwrap_or_default()), &mut bare)
        .map_err(|e| refused(&e))?;
    let bare = String::from_utf8_lossy(&bare).into_owned();
    let text = match options.prefix.as_deref().or(id.text()).unwrap_or("") {
        "" => bare,
        prefix => format!("{prefix}_{bare}"),
    };
    format
        .parse(text.as_bytes(), &GenOptions::default())
        .map_err(|e| refused(&e))
}

fn version(id: &Uuid) -> u8 {
    let octets = id.as_bytes();
    if octets[8] >> 6 == 0b10 { octets[6] >> 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(from: &str, to: &str, text: &str) -> Result<String, String> {
        let [from, to] = [from, to].map(|name| target(name).unwrap());
        let options = GenOptions::default();
        let source = read(text, Some(from), to, &options).map_err(|why| why.text)?;
        write(&source, to, &options).map_err(|why| why.text)
    }

    /// They were taken for numbers of 64 bits, of which no UUID can be made.
    #[test]
    fn digits_are_a_uuid_where_one_is_asked_for() {
        for (from, text, uuid) in [
            ("base36", "0", "00000000-0000-0000-0000-000000000000"),
            ("base36", "000z", "00000000-0000-0000-0000-000000000023"),
            ("base58", "1", "00000000-0000-0000-0000-000000000000"),
            ("base62", "10", "00000000-0000-0000-0000-00000000003e"),
        ] {
            assert_eq!(
                converted(from, "uuid", text).as_deref(),
                Ok(uuid),
                "{from} {text}"
            );
            assert!(converted(from, "hyphenated", text).is_ok() && converted(from, "dec", text).is_ok());
        }
        assert_eq!(
            converted("base36", "hex", "z").as_deref(),
            Ok("23"),
            "a number as ever"
        );
        // What is aligned to the left has no zeros in front.
        assert!(converted("base64", "uuid", "AA").is_err());
        assert!(converted("base36", "uuid", "").is_err());
        assert!(
            converted("base58", "uuid", "0")
                .unwrap_err()
                .contains("character")
        );
    }
}
