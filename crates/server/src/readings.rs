//! How an id is to be read: of itself, as one format, or as a Snowflake of one layout. The command and HTTP ask alike.

use mintage::{
    Format, GenOptions, Layout, Reading, SnowflakeText, Timestamp, inspect, inspect_as, inspect_layout,
};
use mintage_wire::Inspected;

/// What ids are to be read as.
#[derive(Clone, Default, Debug)]
pub struct ReadAs {
    /// This format and nothing else.
    pub format: Option<&'static Format>,
    /// The options that ids of the format were made with.
    pub options: GenOptions,
    /// A Snowflake of this layout.
    pub layout: Option<Layout>,
    /// With neither: Snowflakes of presets begin here.
    pub epoch: Option<Timestamp>,
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
    /// Reads an id.
    ///
    /// ```
    /// use mintage::Timestamp;
    /// use mintage_server::readings::ReadAs;
    /// let now = Timestamp::from_unix_millis(1_800_000_000_000);
    /// let discord = mintage::preset("discord").map(|row| row.layout());
    /// let read_as = ReadAs { layout: discord, ..ReadAs::default() };
    /// let found = read_as.inspect("175928847299117063", now);
    /// assert_eq!(found.document("175928847299117063").readings[0].time.as_deref(), Some("2016-04-30T11:18:25.796Z"));
    /// assert!(read_as.inspect("hello", now).refusal.is_some());
    /// ```
    pub fn inspect(&self, id: &str, now: Timestamp) -> Found {
        let (name, read) = match (&self.layout, self.format) {
            (Some(layout), _) => ("snowflake", of_layout(id, layout, now)),
            (None, Some(format)) => {
                let read = inspect_as(id, format, &self.options, now);
                (format.name, read.map_err(|error| error.to_string()))
            }
            (None, None) => {
                let mut readings = inspect(id, now);
                if let Some(epoch) = self.epoch {
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

/// A layout with another epoch.
///
/// # Errors
/// Why it cannot begin there.
pub fn with_epoch(layout: &Layout, epoch: Timestamp) -> Result<Layout, String> {
    let spec = layout.spec();
    let parts = spec.split(';').map(|part| match part.strip_prefix("epoch=") {
        Some(_) => format!("epoch={}", epoch.unix_millis()),
        None => part.to_string(),
    });
    let spec = parts.collect::<Vec<_>>().join(";");
    spec.parse().map_err(|error| format!("{error}"))
}

fn of_layout(id: &str, layout: &Layout, now: Timestamp) -> Result<Reading, String> {
    let number = SnowflakeText::Dec.read(id.trim().as_bytes());
    let number = number.map_err(|error| error.to_string())?;
    let reading = inspect_layout(number, layout, now);
    let mut reading = reading.ok_or_else(|| format!("{number} is not an id of layout {}", layout.name()))?;
    // Somebody said what it is.
    reading.confidence = reading.confidence.max(0.5);
    Ok(reading)
}

/// Reads every Snowflake again with another epoch.
fn move_epoch(readings: &mut [Reading], epoch: Timestamp, now: Timestamp) {
    for reading in readings.iter_mut() {
        let preset = reading.preset.as_deref().and_then(mintage::preset);
        let moved = preset.and_then(|preset| with_epoch(&preset.layout(), epoch).ok());
        let number = reading.id.number().and_then(|number| u64::try_from(number).ok());
        if let (Some(layout), Some(number)) = (moved, number)
            && let Some(again) = inspect_layout(number, &layout, now)
        {
            (reading.time, reading.confidence, reading.why) = (again.time, again.confidence, again.why);
        }
    }
    readings.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
}
