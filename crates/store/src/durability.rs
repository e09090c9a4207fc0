//! What a store may forget, and which of its server's settings decide that: each kind of store makes one list of them,
//! from which its class, the refusal, `mint doctor --store` and `/readyz` are told.

use std::fmt;

/// What a store may forget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Survives failover.
    Survives,
    /// Durable, single copy.
    Durable,
    /// May lose acknowledged writes.
    Lossy,
}

impl Class {
    /// The letter that stands for it: `S`, `D` or `L`.
    pub fn letter(self) -> &'static str {
        match self {
            Class::Survives => "S",
            Class::Durable => "D",
            Class::Lossy => "L",
        }
    }

    /// What that means, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Class::Survives => "survives the loss of a machine",
            Class::Durable => "durable, a single copy",
            Class::Lossy => "may lose what it confirmed",
        }
    }
}

/// A store's class and what decides it, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Durability {
    /// What it may forget.
    pub class: Class,
    /// What was found: the server's settings that decide it.
    pub why: String,
    /// The exact setting to change, if the class is [`Class::Lossy`].
    pub fix: Option<String>,
    /// Each setting that matters, as it was found; empty where nobody asks a server.
    pub settings: Vec<Setting>,
}

/// How a setting stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Standing {
    /// As it should be, or it makes no difference here.
    Good,
    /// Worth knowing: nothing is lost, but a failover may need an operator; or it cannot be seen from outside.
    Note,
    /// The store stands still, or refuses a failover, though the server seems to be set up for it.
    Weak,
    /// It makes the store one of class L.
    Lossy,
}

/// A setting of a store's server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// As the server calls it, or what was looked at, in words.
    pub name: &'static str,
    /// Its value.
    pub found: String,
    /// What it should be.
    pub wanted: String,
    /// How it stands.
    pub standing: Standing,
    /// What is wrong with it; empty where nothing is.
    pub why: String,
    /// The statement that sets it, or what to do.
    pub fix: Option<String>,
}

impl Setting {
    /// One that is as it should be.
    pub fn good(name: &'static str, found: impl fmt::Display, wanted: impl fmt::Display) -> Setting {
        Setting {
            name,
            found: found.to_string(),
            wanted: wanted.to_string(),
            standing: Standing::Good,
            why: String::new(),
            fix: None,
        }
    }

    /// The same one, which is not as it should be.
    #[must_use]
    pub fn but(self, standing: Standing, why: impl fmt::Display, fix: impl fmt::Display) -> Setting {
        let fix = fix.to_string();
        Setting {
            standing,
            why: why.to_string(),
            fix: Some(fix).filter(|fix| !fix.is_empty()),
            ..self
        }
    }

    /// The same one, good only if `is_good`, or else what makes the class L.
    #[must_use]
    pub fn or_lossy(self, is_good: bool, why: impl fmt::Display, fix: impl fmt::Display) -> Setting {
        match is_good {
            true => self,
            false => self.but(Standing::Lossy, why, fix),
        }
    }
}

impl Durability {
    /// A class that no setting of a server decides.
    pub fn plain(class: Class, why: impl Into<String>) -> Durability {
        Durability {
            class,
            why: why.into(),
            fix: None,
            settings: Vec::new(),
        }
    }

    /// Class L with whatever of these makes it so, else the class that is given.
    pub fn judged(class: Class, why: String, lossy: &str, settings: Vec<Setting>) -> Durability {
        let wrong = || settings.iter().filter(|one| one.standing == Standing::Lossy);
        let joined = |texts: Vec<&str>| texts.join("; ");
        if wrong().next().is_none() {
            return Durability {
                settings,
                ..Durability::plain(class, why)
            };
        }
        Durability {
            class: Class::Lossy,
            why: format!("{lossy}{}", joined(wrong().map(|one| one.why.as_str()).collect())),
            fix: Some(joined(wrong().filter_map(|one| one.fix.as_deref()).collect())),
            settings,
        }
    }

    /// What is wrong with its settings, the worst first.
    pub fn wrong(&self) -> Vec<&Setting> {
        let mut wrong: Vec<&Setting> = self
            .settings
            .iter()
            .filter(|one| one.standing > Standing::Good)
            .collect();
        wrong.sort_by_key(|one| std::cmp::Reverse(one.standing));
        wrong
    }
}
