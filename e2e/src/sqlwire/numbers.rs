//! What clients were given: `NAME NUMBER` a line, and `ok` at the end.

use std::collections::{BTreeMap, HashSet};

use mintage_testing::MARK;

/// Every number so far, by the sequence it came from.
#[derive(Debug, Default)]
pub struct Numbers {
    seen: BTreeMap<String, HashSet<i64>>,
}

impl Numbers {
    /// Takes what a client printed. Its numbers rise, and nobody had one of them before.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn add(&mut self, printed: &str) -> Result<(), String> {
        let mut lines = printed.lines();
        if lines.next_back() != Some("ok") {
            return Err(format!("it did not end with ok:\n{printed}"));
        }
        let mut highest = BTreeMap::new();
        for line in lines {
            let (name, number) = line.split_once(' ').ok_or(format!("{line:?} is no number"))?;
            let number: i64 = number.parse().map_err(|_| format!("{line:?} is no number"))?;
            if let Some(last) = highest.insert(name, number).filter(|last| *last >= number) {
                return Err(format!("{MARK}{line} after {last}"));
            }
            if !self.seen.entry(name.to_string()).or_default().insert(number) {
                return Err(format!("{MARK}{line} came twice"));
            }
        }
        if highest.is_empty() {
            return Err("it took no numbers".to_string());
        }
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.seen.values().map(HashSet::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn numbers_rise_and_come_once() {
        let mut numbers = Numbers::default();
        numbers.add("a 1\nb 1\na 2\nok\n").unwrap();
        assert_eq!(numbers.count(), 3);
        for (printed, says) in [
            ("a 3\n", "did not end"),
            ("ok\n", "no numbers"),
            ("a\nok\n", "\"a\" is no number"),
            ("a 5\na 4\nok\n", "a 4 after 5"),
            ("b 1\nok\n", "b 1 came twice"),
        ] {
            let error = numbers.add(printed).unwrap_err();
            assert!(error.contains(says), "{printed:?}: {error}");
        }
    }
}
