//! What spreadsheets, floating-point numbers, editors and columns that are too narrow do to ids, and what is left.

use alloc::format;
use alloc::string::{String, ToString};

/// What a tool has done to an id.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Damage {
    /// The cause in a word or two, the same for every id that it befell.
    pub cause: &'static str,
    /// What was done and what is lost, a phrase.
    pub words: String,
    /// The id as far as it can be read.
    pub mended: Option<String>,
    /// Whether nothing of it is lost.
    pub whole: bool,
}

impl Damage {
    fn whole(cause: &'static str, words: impl Into<String>, mended: impl Into<String>) -> Option<Damage> {
        Some(Damage {
            cause,
            words: words.into(),
            mended: Some(mended.into()),
            whole: true,
        })
    }

    fn lossy(cause: &'static str, words: impl Into<String>, mended: Option<String>) -> Option<Damage> {
        Some(Damage {
            cause,
            words: words.into(),
            mended,
            whole: false,
        })
    }
}

/// What a tool has done to an id, where the text itself shows it; `None` if it shows nothing of the kind.
///
/// ```
/// use mintage::damage;
/// let excel = damage("1.84996415549945E+18").expect("an exponent");
/// assert!(excel.words.contains("15 digits are left of 19") && !excel.whole);
/// let quoted = damage("'1849964155499446272").expect("an apostrophe");
/// assert_eq!((quoted.mended.as_deref(), quoted.whole), (Some("1849964155499446272"), true));
/// assert_eq!(damage("1849964155499446273"), None);
/// ```
pub fn damage(text: &str) -> Option<Damage> {
    let text = text.trim_ascii();
    if text.len() > 200 {
        return None;
    }
    of_editors(text)
        .or_else(|| of_spreadsheets(text))
        .or_else(|| exponent(text))
        .or_else(|| point(text))
        .or_else(|| separators(text))
}

/// Characters that nobody sees or typed, links, and what a screen cut off.
fn of_editors(text: &str) -> Option<Damage> {
    let marks = |c: char| matches!(c, '\u{a0}' | '\u{ad}' | '\u{2060}' | '\u{feff}');
    let invisible = |c: char| marks(c) || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    if text.contains(invisible) {
        let without: String = text.chars().filter(|c| !invisible(*c)).collect();
        return Damage::whole(
            "invisible",
            "it has an invisible character, as copying from a page or a file's mark gives",
            without,
        );
    }
    let dash = |c: char| matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}');
    if text.contains(dash) {
        let plain: String = text.chars().map(|c| if dash(c) { '-' } else { c }).collect();
        return Damage::whole("dash", "a word processor has made a dash of its hyphens", plain);
    }
    if let Some(rest) = text.strip_suffix('…').or_else(|| text.strip_suffix("..."))
        && rest.len() >= 6
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    {
        let words = format!(
            "it was cut after {} characters where it was shown: the rest is not in it",
            rest.len()
        );
        return Damage::lossy("cut", words, None);
    }
    if let Some(inner) = text.strip_prefix("%7B").and_then(|rest| rest.strip_suffix("%7D")) {
        return Damage::whole("escaped", "its braces are escaped as in a URL", inner);
    }
    let parted = |separator: char| {
        text.split(separator).map(str::len).eq([8, 4, 4, 4, 12])
            && text
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == separator as u8)
    };
    if let Some(separator) = [' ', '_', ':', '.']
        .into_iter()
        .find(|separator| parted(*separator))
    {
        let plain = text.replace(separator, "-");
        return Damage::whole(
            "separator",
            format!("it has {separator:?} where a UUID has hyphens"),
            plain,
        );
    }
    if text.contains("%3A%2F%2F") || text.contains("%3a%2f%2f") {
        return Damage::lossy(
            "escaped",
            "it is a URL, escaped for another URL: take the id out of it",
            None,
        );
    }
    let opened = text
        .split_once(['(', '"'])
        .is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let calls = ["ObjectId(", "UUID(", "ISODate(", "NumberLong(", "BinData("];
    if opened && calls.iter().any(|call| text.starts_with(call)) && !text.ends_with(')') {
        return Damage::lossy(
            "cut",
            "the bracket that it opens is never closed: it was cut off",
            None,
        );
    }
    None
}

/// `'123`, `="123"`.
fn of_spreadsheets(text: &str) -> Option<Damage> {
    if let Some(rest) = text.strip_prefix('\'')
        && rest.bytes().any(|byte| byte.is_ascii_digit())
        && !rest.contains('\'')
    {
        return Damage::whole(
            "apostrophe",
            "a spreadsheet's apostrophe, which marks text, stands in front",
            rest,
        );
    }
    // In CSV, quotes are doubled and stand in quotes.
    let formula = text
        .strip_prefix("\"=\"\"")
        .or_else(|| text.strip_prefix("=\"\""))
        .or_else(|| text.strip_prefix("=\""));
    let inner = formula?.trim_end_matches('"');
    (!inner.is_empty() && !inner.contains('"')).then(|| {
        Damage::whole(
            "formula",
            "it is a spreadsheet's formula, =\"…\", which keeps text as it is",
            inner,
        )
    })?
}

/// `1.84996415549945E+18`.
fn exponent(text: &str) -> Option<Damage> {
    let (mantissa, power) = text.split_once(['e', 'E'])?;
    let power: usize = power
        .strip_prefix('+')
        .unwrap_or(power)
        .parse()
        .ok()
        .filter(|power| (14..=40).contains(power))?;
    let (first, rest) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if first.len() != 1 || !digits(first) || !digits(rest) || rest.len() > power || first == "0" {
        return None;
    }
    let (left, all) = (1 + rest.len(), power + 1);
    let mended = format!("{first}{rest}{}", "0".repeat(all - left));
    let lost = all - left;
    let left = if left == 1 {
        "1 digit is".into()
    } else {
        format!("{left} digits are")
    };
    let words = format!(
        "it was written as a number with an exponent, as spreadsheets and floating-point numbers are: {left} left of \
         {all}, the last {lost} are lost; what they were, only the source can tell"
    );
    Damage::lossy("exponent", words, Some(mended))
}

/// `1849964155499446272.0`.
fn point(text: &str) -> Option<Damage> {
    let (whole, zeros) = text.split_once('.')?;
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let sound = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let fits =
        zeros == "0" || (digits.len() >= 16 && !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0'));
    if !sound || !fits {
        return None;
    }
    // Up to 2^53 a double holds every number.
    match digits.parse::<u128>().ok()? {
        ..=0x20_0000_0000_0000 => Damage::whole(
            "point",
            "it was made a floating-point number, which writes .0 behind it",
            whole,
        ),
        _ => Damage::lossy(
            "double",
            "it was made a floating-point number (a double), which writes .0 behind it and is exact to 2^53 \
            only: its last digits are \
             those of the nearest double",
            Some(whole.into()),
        ),
    }
}

/// `1,849,964,155,499,446,272`.
fn separators(text: &str) -> Option<Damage> {
    let between = |c: char| matches!(c, ',' | '.' | '_' | '\'' | '’' | ' ' | '\u{202f}' | '\u{2009}');
    let separator = text.chars().find(|c| between(*c))?;
    let mut groups = text.split(separator);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups
        .next()
        .filter(|first| first.len() <= 3 && digits(first) && !first.starts_with('0'))?;
    let mut count = 0;
    for group in groups {
        if group.len() != 3 || !digits(group) {
            return None;
        }
        count += 1;
    }
    // Of few groups it is as well a sum, an address or a telephone number.
    let least = if matches!(separator, ',' | '_') { 2 } else { 4 };
    (count >= least && first.len() + 3 * count >= 7).then(|| {
        Damage::whole(
            "thousands",
            "it has thousands separators, as a report or a spreadsheet writes numbers",
            text.replace(separator, ""),
        )
    })?
}

/// What the digits of a number of 16 and more say of where it has been; `None` if nothing.
pub(super) fn of_digits(text: &str) -> Option<String> {
    let number: u64 = text.parse().ok().filter(|number| *number > 1 << 53)?;
    let zeros = text.len() - text.trim_end_matches('0').len();
    if text.len() > 15 && zeros + 15 >= text.len() {
        return Some(format!(
            "perhaps damaged: 15 digits are left, the other {} are zeros, as a spreadsheet leaves them",
            text.len() - 15
        ));
    }
    let nearest = number as f64;
    // What JavaScript, Python and PHP print: the fewest digits that tell this double from the next, filled with zeros.
    if format!("{nearest}") == text && zeros >= 1 {
        return Some(
            "perhaps damaged: it is what JavaScript prints of the nearest double, which ends in zeros"
                .to_string(),
        );
    }
    // Sequence 0 ends in as many zero bits of itself; a double's spacing has 6 to 11.
    let spacing = (64 - number.leading_zeros()).saturating_sub(53);
    let low = number.trailing_zeros();
    (spacing >= 6 && (spacing..10).contains(&low)).then(|| {
        format!(
            "perhaps damaged: it is a double, a multiple of {}, as one number in {0} is by chance",
            1u64 << spacing
        )
    })
}
