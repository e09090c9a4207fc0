//! Names by pattern.

use std::fmt;
use std::str::FromStr;

use crate::glob;

/// Names that fit one of Redis's patterns: `*`, `?`, `[a-c]`, `[^a]`, `\\x`.
///
/// ```
/// use mintage_server::auth::Pattern;
/// let orders: Pattern = "orders.*".parse()?;
/// assert!(orders.fits(b"orders.eu") && !orders.fits(b"orders") && !orders.fits(b"bills"));
/// assert!("orders.[ab".parse::<Pattern>().unwrap_err().contains("never closed"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern(String);

impl Pattern {
    /// Whether a name fits.
    #[inline]
    pub fn fits(&self, name: &[u8]) -> bool {
        glob::matches(self.0.as_bytes(), name)
    }

    /// Whether a source fits: the pattern says that it means sources, so that none for names, such as `*`, is for them too.
    pub fn fits_source(&self, source: &str) -> bool {
        let of_sources = self.0.strip_prefix(SOURCE);
        of_sources.is_some_and(|pattern| glob::matches(pattern.as_bytes(), source.as_bytes()))
    }
}

/// How a pattern for sources begins.
pub(super) const SOURCE: &str = "source:";

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Pattern {
    type Err = String;

    /// Refuses what Redis would read as something that nobody means: a class that is never closed, a backslash at the end.
    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: &str| Err(format!("pattern {text:?}: {why}"));
        let mut rest = text.chars();
        let mut in_class = false;
        while let Some(found) = rest.next() {
            match found {
                '\\' if rest.next().is_none() => return refused("it ends with a backslash"),
                '[' if !in_class => in_class = true,
                ']' => in_class = false,
                _ => {}
            }
        }
        match (text.is_empty(), in_class) {
            (true, _) => refused("it is empty; * is for every name"),
            (_, true) => refused("a class is never closed: ] is missing"),
            _ => Ok(Pattern(text.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_nobody_means_are_refused() {
        for (text, why) in [
            ("", "it is empty"),
            ("a[b", "never closed"),
            ("a\\", "ends with a backslash"),
            ("[a\\]", "never closed"),
        ] {
            let error = text.parse::<Pattern>().unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
        for text in ["*", "a]", "[[]x", "a\\[", "orders.[0-9]*", "日*"] {
            assert!(text.parse::<Pattern>().is_ok(), "{text:?}");
        }
    }
}
