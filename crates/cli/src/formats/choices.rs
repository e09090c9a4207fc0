//! Which kind of id to use: a row for every need.

/// A need, and what serves it.
pub(super) struct Choice {
    pub(super) need: &'static str,
    pub(super) format: &'static str,
    pub(super) command: &'static str,
}

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
        need: "the same, with a modern hash",
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
        need: "numbers without gaps, as for invoices",
        format: "sequence",
        command: "mint seq create invoices --gap none",
    },
    Choice {
        need: "short text for a URL",
        format: "uuid7",
        command: "mint uuid --format base62",
    },
    Choice {
        need: "an id that says what it names: user_…",
        format: "typeid",
        command: "mint gen typeid --prefix user",
    },
    Choice {
        need: "26 characters without look-alikes, by time",
        format: "ulid",
        command: "mint gen ulid",
    },
    Choice {
        need: "a secret key that a scanner recognises",
        format: "token",
        command: "mint gen token --prefix key --checksum",
    },
    Choice {
        need: "random text of a length and alphabet of your own",
        format: "nanoid",
        command: "mint gen nanoid --length 21",
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
        need: "version 1, for a system that asks for it",
        format: "uuid1",
        command: "mint uuid v1",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use mintage::FORMATS;

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
