//! What ids there are and which to use: a row each.

/// A kind of id.
pub(super) struct Format {
    /// Its name in every face.
    pub(super) name: &'static str,
    pub(super) bits: u32,
    /// The steps of the time it holds, if it holds one.
    pub(super) time: Option<&'static str>,
    /// Whether bytes and text sort by time of making.
    pub(super) sorts: bool,
    pub(super) is: &'static str,
    /// What keeps two of them apart.
    pub(super) unique: &'static str,
    /// What it tells whoever sees it.
    pub(super) tells: &'static str,
    pub(super) command: &'static str,
}

/// A need, and what serves it.
pub(super) struct Choice {
    pub(super) need: &'static str,
    pub(super) format: &'static str,
    pub(super) command: &'static str,
}

/// Every format that this command makes.
pub(super) static FORMATS: &[Format] = &[
    Format {
        name: "uuid1",
        bits: 128,
        time: Some("100 ns"),
        sorts: false,
        is: "time and node, for what expects it",
        unique: "node, clock sequence and time; over processes with --state",
        tells: "when, and by which node; with --node hardware also which machine",
        command: "mint uuid v1",
    },
    Format {
        name: "uuid2",
        bits: 128,
        time: Some("429 s"),
        sorts: false,
        is: "DCE: a POSIX user or group and a time",
        unique: "64 for each node, local id and 429 s",
        tells: "whose it is, when, and by which node",
        command: "mint uuid v2",
    },
    Format {
        name: "uuid3",
        bits: 128,
        time: None,
        sorts: false,
        is: "made from a name with MD5, for what expects it",
        unique: "the name within its namespace, as far as MD5 goes",
        tells: "nothing, but a guessed name can be checked",
        command: "mint uuid v3 --namespace dns www.example.com",
    },
    Format {
        name: "uuid4",
        bits: 128,
        time: None,
        sorts: false,
        is: "random",
        unique: "122 random bits",
        tells: "nothing",
        command: "mint uuid v4",
    },
    Format {
        name: "uuid5",
        bits: 128,
        time: None,
        sorts: false,
        is: "made from a name with SHA-1: the same name, the same id",
        unique: "the name within its namespace",
        tells: "nothing, but a guessed name can be checked",
        command: "mint uuid v5 --namespace dns www.example.com",
    },
    Format {
        name: "uuid6",
        bits: 128,
        time: Some("100 ns"),
        sorts: true,
        is: "uuid1 with its time in sorting order",
        unique: "time, and a clock sequence and node random in every id",
        tells: "when",
        command: "mint uuid v6",
    },
    Format {
        name: "uuid7",
        bits: 128,
        time: Some("1 ms"),
        sorts: true,
        is: "time, then random: the one to begin with",
        unique: "time, counter and 54 random bits or more",
        tells: "when",
        command: "mint uuid",
    },
    Format {
        name: "uuid8",
        bits: 128,
        time: None,
        sorts: false,
        is: "bits of your own, or SHA-256 of a name",
        unique: "what you put in",
        tells: "what you put in",
        command: "mint uuid v8 --sha256 --namespace dns www.example.com",
    },
    Format {
        name: "snowflake",
        bits: 64,
        time: Some("1 ms"),
        sorts: true,
        is: "time, worker, sequence; other layouts in mint presets",
        unique: "the worker, if nobody else has it: a pool makes sure",
        tells: "when, by which worker, and how many in that tick",
        command: "mint snowflake",
    },
    Format {
        name: "sequence",
        bits: 64,
        time: None,
        sorts: true,
        is: "1, 2, 3 from a server or store",
        unique: "the store: durable before it is given out",
        tells: "how many there are",
        command: "mint seq next NAME",
    },
];

/// Which one to use; the first row that fits.
pub(super) static CHOICES: &[Choice] = &[
    Choice {
        need: "a key for a database row or an event",
        format: "uuid7",
        command: "mint uuid",
    },
    Choice {
        need: "an id that must not be guessed and tells nothing",
        format: "uuid4",
        command: "mint uuid v4",
    },
    Choice {
        need: "the same id for the same name, everywhere",
        format: "uuid5",
        command: "mint uuid v5 --namespace url https://example.com/a",
    },
    Choice {
        need: "the same, with a hash of today",
        format: "uuid8",
        command: "mint uuid v8 --sha256 --namespace url https://example.com/a",
    },
    Choice {
        need: "64 bits, by time, one machine",
        format: "snowflake",
        command: "mint snowflake",
    },
    Choice {
        need: "64 bits, by time, many machines",
        format: "snowflake",
        command: "mint snowflake --pool default",
    },
    Choice {
        need: "numbers that JavaScript holds exactly (53 bits)",
        format: "snowflake",
        command: "mint snowflake --preset cosid-53 --worker 1",
    },
    Choice {
        need: "short numbers for people: 1, 2, 3",
        format: "sequence",
        command: "mint seq next tickets",
    },
    Choice {
        need: "numbers without a gap, as for invoices",
        format: "sequence",
        command: "mint seq create invoices --gap none",
    },
    Choice {
        need: "short text for a URL",
        format: "uuid7",
        command: "mint uuid --format base62",
    },
    Choice {
        need: "ids of past events, in the order they happened",
        format: "uuid7",
        command: "mint uuid v7 --at 2022-02-22T19:22:22Z",
    },
    Choice {
        need: "one order over all processes of a machine",
        format: "uuid7",
        command: "mint uuid v7 --state ids.state",
    },
    Choice {
        need: "what a system asks for that wants version 1",
        format: "uuid1",
        command: "mint uuid v1",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_a_format() {
        for choice in CHOICES {
            assert!(
                FORMATS.iter().any(|row| row.name == choice.format),
                "{}",
                choice.format
            );
        }
    }
}
