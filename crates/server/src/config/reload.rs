//! What a running server takes from a configuration that was read again.

use super::{Config, keys};

/// How a configuration differs from the one a server runs with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reloaded {
    /// What changed, one setting each, with the value before and now: `server.max_count 10000 -> 500`.
    pub changed: Vec<String>,
    /// What is written differently now and holds from the next start on.
    pub at_next_start: Vec<String>,
}

impl Reloaded {
    /// What differs, and the configuration to run with from here on: the present one with what can change.
    ///
    /// ```
    /// use mintage_server::config::{Auto, Config, Reloaded};
    /// let new = Config { max_count: 500, threads: Auto(Some(3)), ..Config::default() };
    /// let (reloaded, merged) = Reloaded::between(&Config::default(), &new);
    /// assert_eq!(reloaded.changed, ["server.max_count 10000 -> 500"]);
    /// assert_eq!(reloaded.at_next_start, ["server.threads"]);
    /// assert_eq!(merged, Config { max_count: 500, ..Config::default() });
    /// ```
    pub fn between(present: &Config, new: &Config) -> (Reloaded, Config) {
        let (mut reloaded, mut merged) = (Reloaded::default(), present.clone());
        for key in keys().iter().filter(|key| (key.differs)(present, new)) {
            if !key.is_reloaded() {
                reloaded.at_next_start.push(key.path.to_string());
                continue;
            }
            (key.copy)(&mut merged, new);
            reloaded.changed.push(match key.path {
                "auth.tokens" => format!("auth.tokens {}", tokens(present, new)),
                path => format!("{path} {} -> {}", (key.show)(present), (key.show)(new)),
            });
        }
        (reloaded, merged)
    }
}

/// Which tokens came and went, by their names; one whose rights changed went and came.
fn tokens(present: &Config, new: &Config) -> String {
    let names = |of: &Config, without: &Config| {
        let names = of.tokens.iter().filter(|token| !without.tokens.contains(token));
        names
            .map(|token| token.name.clone())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (came, went) = (names(new, present), names(present, new));
    match (came.as_str(), went.as_str()) {
        ("", "") => "in another order".to_string(),
        (came, "") => format!("added {came}"),
        ("", went) => format!("removed {went}"),
        (came, went) => format!("added {came}, removed {went}"),
    }
}
