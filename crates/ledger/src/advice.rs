//! What to do about a refusal: a value, which whoever shows it puts in the words of their own commands and settings.

use std::borrow::Cow;

/// What would help.
///
/// ```
/// use mintage_ledger::Advice;
/// let advice: Advice = "was it edited by hand?".into();
/// assert_eq!(advice, Advice::Words("was it edited by hand?".into()));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Advice {
    /// What holds however the work was asked for: nothing in it names a command, an option or a setting.
    Words(Cow<'static, str>),
    /// A backup of each store of the set, one by one.
    BackUpEachStore,
}

impl From<&'static str> for Advice {
    fn from(words: &'static str) -> Advice {
        Advice::Words(Cow::Borrowed(words))
    }
}

impl From<String> for Advice {
    fn from(words: String) -> Advice {
        Advice::Words(Cow::Owned(words))
    }
}
