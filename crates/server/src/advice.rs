//! What the ledger advises, in the words of the command and its settings: the same for `--store` and `--server`.

use std::borrow::Cow;

use mintage_ledger::Advice;

/// What to do, in words.
pub fn words(advice: Advice) -> Cow<'static, str> {
    match advice {
        Advice::Words(words) => words,
        Advice::BackUpEachStore => "back up each store of it: `mint store backup FILE --store URL`".into(),
    }
}
