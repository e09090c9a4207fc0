//! What may be wrong with a counter.

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// It will hurt.
    Warn,
    /// Numbers repeat or end, now or soon.
    Error,
}

impl Severity {
    /// `info`, `warn` or `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warn => "warn",
            Severity::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal;)*) => {
        /// The kinds of findings; their names are stable.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum FindingCode {
            $($(#[$doc])* $variant,)*
        }

        impl FindingCode {
            /// Every kind.
            pub const ALL: &'static [FindingCode] = &[$(FindingCode::$variant,)*];

            /// Its stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(FindingCode::$variant => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The next number is in the column already.
    Behind = "behind";
    /// It reaches the end of its type or bound soon.
    Ends = "ends";
    /// The column is narrower than the counter.
    Narrow = "narrow";
    /// It begins again behind its end.
    Cycle = "cycle";
    /// Sessions take several numbers at a time.
    Cache = "cache";
    /// It counts in steps.
    Jump = "jump";
    /// A default uses it, but it is not dropped or dumped with the table.
    Unowned = "unowned";
    /// Nothing uses it.
    Orphan = "orphan";
    /// Marks do not travel with logical replication.
    NotReplicated = "not-replicated";
    /// A restart may give out deleted numbers again.
    Reuse = "reuse";
    /// Several servers give out the same numbers.
    Pattern = "pattern";
    /// A step lasts for seconds only.
    SmallStep = "small-step";
    /// Its row makes no sense.
    Misaligned = "misaligned";
    /// The numbers of workers end.
    Workers = "workers";
    /// The store can lose what it has acknowledged.
    Lossy = "lossy";
    /// It was moved to us.
    Fenced = "fenced";
    /// It was moved to us, and its fence does not hold.
    FenceBroken = "fence-broken";
    /// The account may not read it.
    Unreadable = "unreadable";
}

/// One thing that is wrong with a counter, or worth knowing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What it is.
    pub code: FindingCode,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, with its numbers.
    pub text: String,
    /// The statements that mend it, as they would be typed.
    pub fix: Option<String>,
}
