//! What one connection has set.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::errors::{Result, SqlError};
pub(super) use super::known::ALLOW_REPEAT;
use super::known::{Form, OWN_MAX, ROWS, cannot_change, checked, find, ms_of, unknown, version_number};
use mintage_server::chassis::kept::{Heap, allocated};

/// A value that was set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Own {
    /// For the session; `None`: the default.
    session: Option<Rc<str>>,
    /// Until the end of the transaction.
    local: Option<Rc<str>>,
}

/// What does not change while a connection lasts.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) server_version: Rc<str>,
    pub(super) user: Rc<str>,
    pub(super) superuser: bool,
}

/// What one connection has set. Copies share it until one of them changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    own: Rc<BTreeMap<Rc<str>, Own>>,
    /// What was set by the start-up packet: what RESET goes back to.
    started: Rc<BTreeMap<Rc<str>, Rc<str>>>,
}

impl Variables {
    /// Whether a copy is still the same memory.
    pub(super) fn are_those(&self, other: &Variables) -> bool {
        Rc::ptr_eq(&self.own, &other.own)
    }

    /// How much memory they take, with those that the connection began with.
    pub(super) fn bytes(&self) -> usize {
        let started: usize = self
            .started
            .iter()
            .map(|(name, value)| name.heap() + value.heap())
            .sum();
        self.own_bytes() + started + allocated(self.started.len() * 2 * size_of::<(Rc<str>, Rc<str>)>())
    }

    /// How much those take that were set since.
    pub(super) fn own_bytes(&self) -> usize {
        let heap = |(name, own): (&Rc<str>, &Own)| name.heap() + own.session.heap() + own.local.heap();
        let texts: usize = self.own.iter().map(heap).sum();
        // Nodes of a tree may be half empty.
        texts + allocated(self.own.len() * 2 * size_of::<(Rc<str>, Own)>())
    }

    /// What was set of a name in lower case, on this connection or when it began.
    fn set_of(&self, lower: &str) -> Option<&Rc<str>> {
        let own = self.own.get(lower);
        let own = own.and_then(|own| own.local.as_ref().or(own.session.as_ref()));
        own.or_else(|| self.started.get(lower))
    }

    /// The value of a setting; `None`: there is none of this name.
    pub(super) fn get(&self, name: &str, facts: &Facts) -> Option<Rc<str>> {
        let lower = name.to_ascii_lowercase();
        if let Some(value) = self.set_of(&lower) {
            return Some(value.clone());
        }
        match lower.as_str() {
            "server_version" => Some(facts.server_version.clone()),
            "server_version_num" => Some(version_number(&facts.server_version).into()),
            "session_authorization" => Some(facts.user.clone()),
            "role" => Some("none".into()),
            "is_superuser" => Some(if facts.superuser { "on" } else { "off" }.into()),
            ALLOW_REPEAT => Some("off".into()),
            _ => find(&lower).map(|row| row.default.into()),
        }
    }

    /// Whether a setting that is off by default, in lower case, is on.
    #[inline]
    pub(super) fn is_on(&self, lower: &str) -> bool {
        self.set_of(lower).is_some_and(|value| &**value == "on")
    }

    /// A duration that is 0 by default, in milliseconds; its name in lower case.
    #[inline]
    pub(super) fn ms(&self, lower: &str) -> u64 {
        let value = self.set_of(lower);
        value.and_then(|value| ms_of(value)).unwrap_or_default()
    }

    /// Sets a value.
    ///
    /// # Errors
    /// There is no such setting, it cannot be set, or not to this; there are too many.
    pub(super) fn set(&mut self, name: &str, value: &str, local: bool) -> Result<()> {
        let (name, value) = checked(name, value)?;
        let own = Rc::make_mut(&mut self.own);
        if own.len() >= OWN_MAX && !own.contains_key(&*name) {
            // What is as if it had never been set takes no place.
            own.retain(|_, own| *own != Own::default());
            if own.len() >= OWN_MAX {
                let message = format!("a connection has at most {OWN_MAX} settings of its own");
                return Err(SqlError::new("53400", message));
            }
        }
        let entry = own.entry(name).or_default();
        match local {
            true => entry.local = Some(value),
            false => {
                *entry = Own {
                    session: Some(value),
                    local: None,
                };
            }
        }
        Ok(())
    }

    /// Sets a value as the start-up packet has it.
    ///
    /// # Errors
    /// As [`Variables::set`].
    pub(super) fn start_with(&mut self, name: &str, value: &str) -> Result<()> {
        let (name, value) = checked(name, value)?;
        let started = Rc::make_mut(&mut self.started);
        if started.len() >= OWN_MAX && !started.contains_key(&*name) {
            let message = format!("a connection has at most {OWN_MAX} settings of its own");
            return Err(SqlError::new("53400", message));
        }
        started.insert(name, value);
        Ok(())
    }

    /// Back to what it was when the connection began; all of them without a name.
    ///
    /// # Errors
    /// There is no such setting, or it cannot be set.
    pub(super) fn reset(&mut self, name: Option<&str>) -> Result<()> {
        let Some(name) = name else {
            self.own = Rc::default();
            return Ok(());
        };
        let lower = name.to_ascii_lowercase();
        match find(&lower) {
            Some(row) if matches!(row.form, Form::Fixed) => return Err(cannot_change(row.title)),
            None if !lower.contains('.') && lower != "role" => return Err(unknown(name)),
            _ => {}
        }
        if self.own.contains_key(&*lower) {
            Rc::make_mut(&mut self.own).remove(&*lower);
        }
        Ok(())
    }

    /// The transaction has ended well: what was for it alone goes.
    pub(super) fn end_local(&mut self) {
        if self.own.values().any(|own| own.local.is_some()) {
            let own = Rc::make_mut(&mut self.own);
            own.values_mut().for_each(|own| own.local = None);
            own.retain(|_, own| *own != Own::default());
        }
    }

    /// Every setting with its value, in order.
    pub(super) fn all(&self, facts: &Facts) -> Vec<(String, Rc<str>)> {
        let rows = ROWS.iter().map(|row| row.title.to_string());
        let value = |name: String| {
            let value = self.get(&name, facts).unwrap_or_default();
            (name, value)
        };
        rows.map(value).collect()
    }

    /// What clients are told at the beginning.
    pub(super) fn reported(&self, facts: &Facts) -> impl Iterator<Item = (&'static str, Rc<str>)> {
        let rows = ROWS.iter().filter(|row| row.reported);
        rows.map(|row| (row.title, self.get(row.name, facts).unwrap_or_default()))
    }

    /// What clients are told of a change from `before`.
    pub(super) fn changes(&self, before: &Variables, facts: &Facts) -> Vec<(&'static str, Rc<str>)> {
        if Rc::ptr_eq(&self.own, &before.own) {
            return Vec::new();
        }
        let pairs = self.reported(facts).zip(before.reported(facts));
        pairs
            .filter(|(now, before)| now.1 != before.1)
            .map(|(now, _)| now)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::known::VALUE_BYTES_MAX;
    use super::*;

    fn facts() -> Facts {
        Facts {
            server_version: "17.2 (Mintage 1.0)".into(),
            user: "web".into(),
            superuser: false,
        }
    }

    #[test]
    fn values_are_shown_as_postgresql_shows_them() {
        for (name, value, shown) in [
            ("client_encoding", "utf-8", "UTF8"),
            ("CLIENT_ENCODING", "latin1", "LATIN1"),
            ("DateStyle", "ISO", "ISO, MDY"),
            ("datestyle", "iso, dmy", "ISO, DMY"),
            ("statement_timeout", "5000", "5s"),
            ("statement_timeout", "1min", "1min"),
            ("statement_timeout", "1500", "1500ms"),
            ("statement_timeout", "0", "0"),
            ("default_transaction_read_only", "TRUE", "on"),
            ("extra_float_digits", "3", "3"),
            ("application_name", "caf\u{e9}\n", "caf??"),
            ("my.own", "x", "x"),
            (ALLOW_REPEAT, "yes", "on"),
        ] {
            let mut variables = Variables::default();
            variables.set(name, value, false).unwrap();
            assert_eq!(variables.get(name, &facts()).as_deref(), Some(shown), "{name}");
        }
        let mut variables = Variables::default();
        for (name, value, state) in [
            ("nosuch", "x", "42704"),
            ("server_version", "18", "55P02"),
            ("extra_float_digits", "4", "22023"),
            ("client_encoding", "klingon", "22023"),
            ("jit", "maybe", "22023"),
            ("bytea_output", "octal", "22023"),
            ("statement_timeout", "-1", "22023"),
        ] {
            assert_eq!(
                variables.set(name, value, false).unwrap_err().state,
                state,
                "{name}"
            );
        }
        let get = |name: &str| variables.get(name, &facts()).map(|value| value.to_string());
        assert_eq!(get("server_version_num").as_deref(), Some("170002"));
        assert_eq!(
            (get("is_superuser").as_deref(), get("nosuch")),
            (Some("off"), None)
        );
    }

    #[test]
    fn what_is_local_ends_with_its_transaction_and_changes_are_told() {
        let mut variables = Variables::default();
        variables.start_with("application_name", "web").unwrap();
        let before = variables.clone();
        variables.set("application_name", "a", false).unwrap();
        variables.set("application_name", "b", true).unwrap();
        let shown = |variables: &Variables| variables.get("application_name", &facts()).unwrap().to_string();
        assert_eq!(shown(&variables), "b");
        assert_eq!(
            variables.changes(&before, &facts()),
            [("application_name", "b".into())]
        );
        variables.end_local();
        assert_eq!(shown(&variables), "a");
        variables.reset(None).unwrap();
        assert_eq!(shown(&variables), "web");
        assert!(variables.changes(&before, &facts()).is_empty());
        assert_eq!(variables.reset(Some("nosuch")).unwrap_err().state, "42704");
    }

    #[test]
    fn a_connection_has_so_many_settings_of_its_own() {
        let mut variables = Variables::default();
        for n in 0..OWN_MAX {
            variables.set(&format!("a.b{n}"), "x", false).unwrap();
        }
        assert_eq!(variables.set("a.more", "x", false).unwrap_err().state, "53400");
        variables.set("a.b0", "y", false).unwrap();
        let long = "x".repeat(VALUE_BYTES_MAX + 1);
        assert_eq!(variables.set("a.b0", &long, false).unwrap_err().state, "22023");
    }
}
