//! The sections of the faces of other systems, whatever their types: each face knows its own, and the table of settings
//! knows their rows.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::OnceLock;

use super::faces::{Access, Keys};
use super::{Config, Key, Row};

/// The settings of a face of another system: what `face_settings!` makes.
pub trait Section: Any + Clone + PartialEq + fmt::Debug + Default + Send + Sync {
    /// The face: the section is `faces.FACE`.
    const FACE: &'static str;

    /// Who reaches it, and who may use it.
    fn access(&self) -> &Access;

    /// How keys become names.
    fn keys(&self) -> &Keys;

    /// Whether its namespaces of machines may grow.
    fn machines_grow(&self) -> bool {
        false
    }

    /// Its rows of the table of settings.
    fn rows() -> Vec<Row<Self>>;
}

/// A [`Section`] whose type is known to its face alone.
trait AnySection: Any + fmt::Debug + Send + Sync {
    fn access(&self) -> &Access;
    fn keys(&self) -> &Keys;
    fn machines_grow(&self) -> bool;
    fn copied(&self) -> Box<dyn AnySection>;
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<S: Section> AnySection for S {
    fn access(&self) -> &Access {
        Section::access(self)
    }

    fn keys(&self) -> &Keys {
        Section::keys(self)
    }

    fn machines_grow(&self) -> bool {
        Section::machines_grow(self)
    }

    fn copied(&self) -> Box<dyn AnySection> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<S>() == Some(self)
    }
}

/// How a face's settings begin, and their rows: a part of the face's own row.
#[derive(Clone, Copy, Debug)]
pub struct SettingsOf {
    begin: fn() -> One,
    rows: fn() -> Vec<Key>,
}

impl SettingsOf {
    /// Those of this type.
    pub const fn of<S: Section>() -> SettingsOf {
        SettingsOf {
            begin: || One {
                face: S::FACE,
                kind: TypeId::of::<S>(),
                settings: Box::new(S::default()),
            },
            rows: || {
                let rows = S::rows().into_iter();
                let of_config = |row: Row<S>| {
                    row.of(
                        |config: &Config| config.faces.get::<S>(),
                        |config: &mut Config| config.faces.get_mut::<S>(),
                    )
                };
                rows.map(of_config).collect()
            },
        }
    }
}

/// Those of the faces of this program, in their order.
static INSTALLED: OnceLock<Vec<SettingsOf>> = OnceLock::new();

/// Says which there are, before any configuration is made. Whether they were the first to be named.
pub(crate) fn install(all: Vec<SettingsOf>) -> bool {
    INSTALLED.set(all).is_ok()
}

fn installed() -> &'static [SettingsOf] {
    INSTALLED.get_or_init(Vec::new)
}

/// The rows of all.
pub(super) fn rows() -> impl Iterator<Item = Key> {
    installed().iter().flat_map(|of| (of.rows)())
}

/// The settings of one face.
#[derive(Debug)]
struct One {
    face: &'static str,
    kind: TypeId,
    settings: Box<dyn AnySection>,
}

/// The sections of the faces of other systems.
#[derive(Debug)]
pub struct Faces(Vec<One>);

impl Default for Faces {
    fn default() -> Self {
        Faces(installed().iter().map(|of| (of.begin)()).collect())
    }
}

impl Clone for Faces {
    fn clone(&self) -> Self {
        let copied = |one: &One| One {
            settings: one.settings.copied(),
            ..*one
        };
        Faces(self.0.iter().map(copied).collect())
    }
}

impl PartialEq for Faces {
    fn eq(&self, other: &Self) -> bool {
        let equal = |(one, other): (&One, &One)| one.settings.equals(&*other.settings);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(equal)
    }
}

impl Faces {
    /// A face's own settings.
    ///
    /// # Panics
    /// The face is none of this program.
    pub fn get<S: Section>(&self) -> &S {
        let found = self.0.iter().find(|one| one.kind == TypeId::of::<S>());
        let found = found.and_then(|one| (&*one.settings as &dyn Any).downcast_ref());
        found.unwrap_or_else(|| panic!("the face {} was not installed", S::FACE))
    }

    /// The same, to be changed.
    ///
    /// # Panics
    /// The face is none of this program.
    pub fn get_mut<S: Section>(&mut self) -> &mut S {
        let found = self.0.iter_mut().find(|one| one.kind == TypeId::of::<S>());
        let found = found.and_then(|one| (&mut *one.settings as &mut dyn Any).downcast_mut());
        found.unwrap_or_else(|| panic!("the face {} was not installed", S::FACE))
    }

    /// Who reaches each, by its name, and how it reads keys.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Access, &Keys)> {
        self.0
            .iter()
            .map(|one| (one.face, one.settings.access(), one.settings.keys()))
    }

    /// How the face of this name reads keys; where this program has no such face, a key is the name.
    pub fn keys_of(&self, face: &str) -> &Keys {
        static NONE: Keys = Keys::NONE;
        self.named(face).map_or(&NONE, |settings| settings.keys())
    }

    /// Whether namespaces of machines of the face of this name may grow.
    pub fn machines_grow(&self, face: &str) -> bool {
        self.named(face).is_some_and(|settings| settings.machines_grow())
    }

    fn named(&self, face: &str) -> Option<&dyn AnySection> {
        let found = self.0.iter().find(|one| one.face == face);
        found.map(|one| &*one.settings)
    }
}
