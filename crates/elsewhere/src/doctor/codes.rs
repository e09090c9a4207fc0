//! The table of findings: what each means, when it is made, what to do.

use crate::source::{FindingCode, Severity};

/// A row of [`CODES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeRow {
    /// Which.
    pub code: FindingCode,
    /// How bad it may be, in words.
    pub severity: &'static str,
    /// When it is made.
    pub when: &'static str,
    /// What mends it.
    pub fix: &'static str,
}

macro_rules! rows {
    ($($code:ident $severity:literal, $when:literal, $fix:literal;)*) => {
        /// Every finding, in the order in which people should care.
        pub static CODES: &[CodeRow] = &[$(CodeRow {
            code: FindingCode::$code,
            severity: $severity,
            when: $when,
            fix: $fix,
        },)*];
    };
}

rows! {
    Behind "error",
        "the next number is in the column already, or the mark went back since an earlier look",
        "set it behind the largest number, with inserts waiting";
    Ends "error below 30 days, warn below 2 years, else info; without a rate: error above 95 %, warn above 75 %",
        "the nearest of the column's type, the counter's type, its bound; 2^53 is info",
        "widen the column and the counter, or lift the bound";
    FenceBroken "error",
        "moved to mint, but the fence is gone, was changed, or is another move's",
        "mint import with --verify says more";
    Misaligned "error",
        "a row that makes no sense: no row or several, a delta of 0, a remainder beyond it",
        "set the column to what it must be";
    Cycle "error with a unique column, else warn",
        "it begins again behind its end, and numbers come twice",
        "NO CYCLE";
    Lossy "error",
        "the server can lose what it has acknowledged: numbers come again after a crash",
        "the setting that is named";
    Pattern "error",
        "several servers generate numbers for one column with the same offset, or with a step below their number",
        "a step and an offset of its own for each server";
    Workers "error or warn, as ends",
        "numbers of workers run out, or the time of their layout ended",
        "more bits for workers, or a pool of mint";
    Narrow "warn",
        "the column is narrower than its counter: it ends first, and inserts fail",
        "widen the column";
    NotReplicated "warn",
        "PostgreSQL with logical replication: marks do not travel along",
        "set every counter forward at the switch-over";
    Reuse "warn",
        "InnoDB before MySQL 8.0 and MariaDB 10.2.4 forgets deleted numbers at a restart",
        "a later server";
    SmallStep "warn",
        "what a server takes at a time lasts for less than 10 s (of Leaf: the step to which it doubles by itself, up to a million); or tinyid's step overflows",
        "a larger step: a minute's numbers";
    Unreadable "warn; info for a column without an index",
        "the account may not read it or its column, or no index begins with that: whether it is behind is not known",
        "GRANT SELECT; --full";
    Cache "info",
        "sessions of PostgreSQL take several numbers at a time: with a pooler they come out of order, with gaps",
        "CACHE 1, where order matters";
    Jump "info", "the step from number to number is not 1", "none: usually meant";
    Unowned "info",
        "a default draws from it, but it is neither dropped nor dumped with the table",
        "OWNED BY";
    Orphan "info", "no default draws from it: forgotten, or drawn from by a program", "none: ask before you drop it";
    Fenced "info", "moved to mint, and its fence stands", "none";
}

impl CodeRow {
    /// The row of a code.
    ///
    /// ```
    /// use mintage_elsewhere::doctor::CodeRow;
    /// use mintage_elsewhere::source::FindingCode;
    /// assert_eq!(CodeRow::of(FindingCode::Behind).severity, "error");
    /// ```
    pub fn of(code: FindingCode) -> &'static CodeRow {
        let row = CODES.iter().find(|row| row.code == code);
        row.expect("a test holds the table against the codes")
    }
}

/// Which findings make a look fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailOn {
    /// Those at least so bad.
    AtLeast(Severity),
    /// Those of these codes, however bad.
    Codes(Vec<FindingCode>),
    /// None.
    Never,
}

impl FailOn {
    /// Reads `error`, `warn`, `info`, `never`, or codes with commas between.
    ///
    /// ```
    /// use mintage_elsewhere::doctor::FailOn;
    /// use mintage_elsewhere::source::{FindingCode, Severity};
    /// assert_eq!(FailOn::parse("warn"), Ok(FailOn::AtLeast(Severity::Warn)));
    /// let codes = vec![FindingCode::Behind, FindingCode::Cycle];
    /// assert_eq!(FailOn::parse("behind,cycle"), Ok(FailOn::Codes(codes)));
    /// assert!(FailOn::parse("behnd").is_err());
    /// ```
    ///
    /// # Errors
    /// What is no such word, with those that are.
    pub fn parse(text: &str) -> Result<FailOn, String> {
        let severities = [Severity::Info, Severity::Warn, Severity::Error];
        if let Some(least) = severities.into_iter().find(|severity| severity.as_str() == text) {
            return Ok(FailOn::AtLeast(least));
        }
        if text == "never" {
            return Ok(FailOn::Never);
        }
        let code = |word: &str| {
            let found = FindingCode::ALL.iter().find(|code| code.as_str() == word.trim());
            found.copied().ok_or_else(|| {
                let known: Vec<_> = CODES.iter().map(|row| row.code.as_str()).collect();
                format!(
                    "{word:?} is neither error, warn, info, never nor a code: known are {}",
                    known.join(", ")
                )
            })
        };
        text.split(',')
            .map(code)
            .collect::<Result<_, _>>()
            .map(FailOn::Codes)
    }

    /// Whether a finding makes it fail.
    pub fn is_for(&self, code: FindingCode, severity: Severity) -> bool {
        match self {
            FailOn::AtLeast(least) => severity >= *least,
            FailOn::Codes(codes) => codes.contains(&code),
            FailOn::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_row() {
        let mut codes: Vec<_> = CODES.iter().map(|row| row.code).collect();
        codes.sort();
        assert_eq!(codes, FindingCode::ALL);
    }

    #[test]
    fn looks_fail_for_what_was_asked() {
        let fails = |text: &str, code, severity| FailOn::parse(text).unwrap().is_for(code, severity);
        assert!(fails("error", FindingCode::Behind, Severity::Error));
        assert!(!fails("error", FindingCode::Narrow, Severity::Warn));
        assert!(fails("warn", FindingCode::Narrow, Severity::Warn));
        assert!(!fails("warn", FindingCode::Jump, Severity::Info));
        assert!(fails("info", FindingCode::Jump, Severity::Info));
        assert!(!fails("never", FindingCode::Behind, Severity::Error));
        assert!(fails("jump,behind", FindingCode::Jump, Severity::Info));
        assert!(!fails("jump", FindingCode::Behind, Severity::Error));
    }
}
