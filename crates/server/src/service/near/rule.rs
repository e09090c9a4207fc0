//! When a new name is most likely a known one, misspelt or spelt in another system's way.

/// Letters that a name, and the word that differs, must have: below that, a difference of one letter is a choice
/// (`eu`, `us`; `a`, `b`).
const LETTERS_MIN: usize = 4;

/// How a name compares with others: what differs between systems and between people's habits is gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spelling {
    /// Small letters, without quotes, every separator as `_`.
    pub(super) plain: String,
    /// What stands after the last dot, in the same form; `None` without a dot.
    pub(super) unqualified: Option<String>,
}

impl Spelling {
    pub(super) fn of(name: &str) -> Spelling {
        let plain = |text: &str| -> String {
            let unquoted = text.chars().filter(|c| !QUOTES.contains(c));
            let joined = unquoted.map(|c| if SEPARATORS.contains(&c) { '_' } else { c });
            joined.flat_map(char::to_lowercase).collect()
        };
        Spelling {
            plain: plain(name),
            unqualified: name.rsplit_once('.').map(|(_, last)| plain(last)),
        }
    }

    /// Its form with every number in it as `#`: names that are counted through (`shard_01`, `shard_02`) have one.
    pub(super) fn shape(&self) -> String {
        shape(&self.plain)
    }
}

pub(super) fn shape(plain: &str) -> String {
    let mut shape = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c.is_numeric() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(c),
        }
    }
    shape
}

/// Whether two different names are one, but for a letter, or for their schema, case, quotes or separators.
pub(super) fn are_near(one: &Spelling, other: &Spelling) -> bool {
    if letters(&one.plain) < LETTERS_MIN || letters(&other.plain) < LETTERS_MIN {
        return false;
    }
    let differs_by_schema = |long: &Spelling, short: &Spelling| {
        short.unqualified.is_none() && long.unqualified.as_ref() == Some(&short.plain)
    };
    one.plain == other.plain
        || differs_by_schema(one, other)
        || differs_by_schema(other, one)
        || differs_by_a_letter(&one.plain, &other.plain)
}

/// One letter more, less or other, or two neighbours that changed places. A digit is no misspelt letter, nor is the
/// letter of a short word.
fn differs_by_a_letter(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = |pair: &(&char, &char)| pair.0 == pair.1;
    let begin = one.iter().zip(&other).take_while(same).count();
    let (left, right) = (&one[begin..], &other[begin..]);
    let end = left.iter().rev().zip(right.iter().rev()).take_while(same).count();
    let (left, right) = (&left[..left.len() - end], &right[..right.len() - end]);
    let is_one_edit = match (left, right) {
        ([_], []) | ([], [_]) | ([_], [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    };
    let are_letters = !left.iter().chain(right).any(|c| c.is_numeric());
    let in_a_long_word = |text: &[char]| word_around(text, begin) >= LETTERS_MIN;
    is_one_edit && are_letters && in_a_long_word(&one) && in_a_long_word(&other)
}

/// How many letters the word has that a place lies in or beside.
fn word_around(text: &[char], at: usize) -> usize {
    let is_in_word = |c: &&char| c.is_alphabetic();
    let before = text[..at].iter().rev().take_while(is_in_word).count();
    before + text[at..].iter().take_while(is_in_word).count()
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphabetic()).count()
}

const SEPARATORS: &[char] = &['.', '_', '-', ':', '/', ' '];
const QUOTES: &[char] = &['"', '\'', '`', '[', ']', '{', '}'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_a_letter_or_by_how_a_system_writes_them() {
        for (one, other, near) in [
            ("orders", "order", true),
            ("orders", "ordres", true),
            ("invoices", "invoises", true),
            ("shop.orders", "shop.orderz", true),
            ("orders", "Orders", true),
            ("orders", "\"orders\"", true),
            ("order_items", "order-items", true),
            ("order_items", "order.items", true),
            ("order_items", "orderitems", true),
            ("shard_01", "shard-01", true),
            ("orders", "public.orders", true),
            ("shop.orders", "orders", true),
            ("{orders}", "orders", true),
            ("заказы", "заказ", true),
            // Digits are chosen.
            ("orders1", "orders2", false),
            ("orders", "orders2", false),
            ("shard_01", "shard_02", false),
            ("orderl", "order1", false),
            // So are letters of short words, and schemas that both have.
            ("a", "b", false),
            ("cat", "car", false),
            ("shard_a", "shard_b", false),
            ("orders.de", "orders.dk", false),
            ("shop.orders", "crm.orders", false),
            ("shop.id", "id", false),
            // More than one.
            ("orders", "invoices", false),
            ("orders", "borderz", false),
            ("2024", "2025", false),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                let found = are_near(&Spelling::of(one), &Spelling::of(other));
                assert_eq!(found, near, "{one} / {other}");
            }
        }
    }

    #[test]
    fn names_that_are_counted_through_have_one_shape() {
        for (name, shape) in [
            ("shard_01", "shard_#"),
            ("shard_117", "shard_#"),
            ("Orders", "orders"),
            ("7-7", "#_#"),
        ] {
            assert_eq!(Spelling::of(name).shape(), shape);
        }
    }
}
