//! How an id is to be read: of itself, as one format, or as a Snowflake of one layout. The command and HTTP ask alike.

use mintage::{
    Family, FieldsText, Format, FormatError, GenOptions, Layout, Reading, SnowflakeText, TextError,
    Timestamp, inspect, inspect_as, inspect_layout_wide,
};

use crate::Inspected;

/// What ids are to be read as.
#[derive(Clone, Default, Debug)]
pub struct ReadAs {
    /// This format and nothing else.
    format: Option<&'static Format>,
    /// The options that ids of the format were made with. Without a format: a layout means a Snowflake of it, and an
    /// epoch is where Snowflakes of presets begin.
    options: GenOptions,
}

/// Why nothing can be read so.
#[derive(Clone, Debug)]
pub enum NotReadAs {
    /// The format refuses an option.
    Refused(&'static Format, FormatError),
    /// These options belong to a format, and none is named.
    NoFormat,
}

/// What an id is, or why it is not what it was to be read as.
#[derive(Clone, Debug)]
pub struct Found {
    /// The ways to read it, the likeliest first.
    pub readings: Vec<Reading>,
    /// The refusal of the one format that was asked for.
    pub refusal: Option<(&'static str, String)>,
}

impl ReadAs {
    /// Reads as one format, with its own options; or with a layout or an epoch alone.
    ///
    /// # Errors
    /// The options are not the format's, or there is none that they could belong to.
    pub fn new(format: Option<&'static Format>, options: GenOptions) -> Result<ReadAs, NotReadAs> {
        let options = options.with_epoch_in_layout();
        let snowflake = mintage::format("snowflake").expect("a row of the table");
        let owner = match format {
            None if options.layout.is_some() => snowflake,
            None => {
                let others = GenOptions {
                    epoch: None,
                    ..options.clone()
                };
                return match others == GenOptions::default() {
                    true => Ok(ReadAs { format, options }),
                    false => Err(NotReadAs::NoFormat),
                };
            }
            Some(format) => format,
        };
        match owner.check_options(&options) {
            Ok(()) => Ok(ReadAs { format, options }),
            Err(error) => Err(NotReadAs::Refused(owner, error)),
        }
    }

    /// Reads an id.
    ///
    /// ```
    /// use mintage::{GenOption, GenOptions, Timestamp};
    /// use mintage_wire::readings::ReadAs;
    /// let now = Timestamp::from_unix_millis(1_800_000_000_000);
    /// let mut discord = GenOptions::default();
    /// discord.set(GenOption::Layout, "discord").expect("a preset");
    /// let read_as = ReadAs::new(None, discord).expect("a layout needs no format");
    /// let found = read_as.inspect("175928847299117063", now);
    /// assert_eq!(found.document("175928847299117063").readings[0].time.as_deref(), Some("2016-04-30T11:18:25.796Z"));
    /// assert!(read_as.inspect("hello", now).refusal.is_some());
    /// ```
    pub fn inspect(&self, id: &str, now: Timestamp) -> Found {
        let is_of_layout = self.format.is_none_or(|row| row.family == Family::Snowflake);
        let (name, read) = match (&self.options.layout, self.format) {
            (Some(layout), _) if is_of_layout => ("snowflake", of_layout(id, layout, now)),
            (_, Some(format)) => {
                let read = inspect_as(id, format, &self.options, now);
                (format.name, read.map_err(|error| error.to_string()))
            }
            (_, None) => {
                let mut readings = inspect(id, now);
                if let Some(epoch) = self.options.epoch {
                    move_epoch(&mut readings, epoch, now);
                }
                return Found {
                    readings,
                    refusal: None,
                };
            }
        };
        match read {
            Ok(reading) => Found {
                readings: vec![reading],
                refusal: None,
            },
            Err(why) => Found {
                readings: Vec::new(),
                refusal: Some((name, why)),
            },
        }
    }
}

impl Found {
    /// What was found of `id` as a document.
    pub fn document<'a>(&'a self, id: &'a str) -> Inspected<'a> {
        match &self.refusal {
            Some((format, why)) => Inspected::not_of(id, format, why),
            None => Inspected::new(id, &self.readings),
        }
    }
}

fn of_layout(id: &str, layout: &Layout, now: Timestamp) -> Result<Reading, String> {
    let (number, form) = number_of(id.trim().as_bytes(), layout).map_err(|error| error.to_string())?;
    let reading = inspect_layout_wide(number, layout, now);
    let mut reading = reading.ok_or_else(|| format!("{number} is not an id of layout {}", layout.name()))?;
    // Somebody said what it is.
    reading.confidence = reading.confidence.max(0.5);
    reading.form = form;
    Ok(reading)
}

/// An id of a layout in decimal; of a wide one also with its fields for themselves, which has a length of its own.
fn number_of(text: &[u8], layout: &Layout) -> Result<(u128, Option<&'static str>), TextError> {
    if !layout.is_wide() {
        return Ok((SnowflakeText::Dec.read(text)?.into(), None));
    }
    let in_fields = |(_, form): &&(_, FieldsText)| form.chars(layout) == text.len();
    SnowflakeText::Dec
        .read_wide(text)
        .map(|id| (id, None))
        .or_else(|error| {
            let Some((name, form)) = FieldsText::ALL.iter().find(in_fields) else {
                return Err(error);
            };
            Ok((form.read(text, layout)?, Some(*name)))
        })
}

/// Reads every Snowflake again with another epoch.
fn move_epoch(readings: &mut [Reading], epoch: Timestamp, now: Timestamp) {
    for reading in readings.iter_mut() {
        let preset = reading.preset.as_deref().and_then(mintage::preset);
        let moved = preset.map(|preset| preset.layout().with_epoch(epoch));
        if let (Some(layout), Some(number)) = (moved, reading.id.number())
            && let Some(again) = inspect_layout_wide(number, &layout, now)
        {
            (reading.time, reading.confidence, reading.why) = (again.time, again.confidence, again.why);
        }
    }
    readings.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
}
