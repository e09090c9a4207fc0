//! A row of the table of settings: everything there is to know about one, whatever it is a setting of.

use std::fmt;

use super::value::Listen;

/// A setting's value on its way in.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// From the environment or a flag.
    Text(&'a str),
    /// From a file.
    Toml(&'a toml::Value),
}

/// One setting of `S`.
pub struct Row<S> {
    /// Where it stands in the file, dots between the sections.
    pub path: &'static str,
    /// What kind of value it takes.
    pub kind: &'static str,
    /// The default as it would be written in the environment.
    pub default: &'static str,
    /// The smallest and largest value, as a person writes them.
    pub range: Option<(String, String)>,
    /// What it does.
    pub doc: &'static str,
    /// Reads a value into the settings.
    pub set: Set<S>,
    /// The value as TOML, secrets as `***`.
    pub show: Show<S>,
    /// Whether two settings differ in it.
    pub differs: Differs<S>,
    /// Where a face listens, if that is what it says.
    pub listen: ListenOf<S>,
    /// Takes the value of the second into the first.
    pub copy: Copied<S>,
}

type Set<S> = Box<dyn Fn(&mut S, Input<'_>) -> Result<(), String> + Send + Sync>;
type Show<S> = Box<dyn Fn(&S) -> String + Send + Sync>;
type Differs<S> = Box<dyn Fn(&S, &S) -> bool + Send + Sync>;
type ListenOf<S> = Box<dyn Fn(&S) -> Option<&Listen> + Send + Sync>;
type Copied<S> = Box<dyn Fn(&mut S, &S) + Send + Sync>;

impl<S> fmt::Debug for Row<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({})", self.path)
    }
}

impl<S: 'static> Row<S> {
    /// The environment variable of this setting.
    pub fn environment(&self) -> String {
        format!("MINT_{}", self.path.replace('.', "__").to_uppercase())
    }

    /// The same setting of whatever holds these settings.
    pub(crate) fn of<T: 'static>(self, part: fn(&T) -> &S, part_mut: fn(&mut T) -> &mut S) -> Row<T> {
        let Row {
            path,
            kind,
            default,
            range,
            doc,
            set,
            show,
            differs,
            listen,
            copy,
        } = self;
        Row {
            path,
            kind,
            default,
            range,
            doc,
            set: Box::new(move |whole, input| set(part_mut(whole), input)),
            show: Box::new(move |whole| show(part(whole))),
            differs: Box::new(move |one, other| differs(part(one), part(other))),
            listen: Box::new(move |whole| listen(part(whole))),
            copy: Box::new(move |to, from| copy(part_mut(to), part(from))),
        }
    }
}

/// Makes a [`Row`]: the path, the field it is kept in, its type, default, range and words.
#[macro_export]
macro_rules! row {
    ($settings:ty, $path:expr, $($field:ident).+: $type:ty = $default:expr, [$($low:literal, $high:literal)?], $doc:expr) => {{
        use $crate::config::{Input, Row, Setting};
        Row::<$settings> {
            path: $path,
            kind: <$type as Setting>::KIND,
            default: $default,
            range: $crate::row!(@range $type $(, $low, $high)?),
            doc: $doc,
            set: Box::new(|settings, input| {
                let value = match input {
                    Input::Text(text) => <$type as Setting>::parse(text)?,
                    Input::Toml(value) => <$type as Setting>::from_toml(value)?,
                };
                $(if let Some(size) = Setting::magnitude(&value) && !($low..=$high).contains(&size) {
                    return Err(format!(
                        "{} is out of range: {} to {}",
                        Setting::show(&value),
                        <$type as Setting>::show_bound($low),
                        <$type as Setting>::show_bound($high),
                    ));
                })?
                settings.$($field).+ = value;
                Ok(())
            }),
            show: Box::new(|settings| Setting::show(&settings.$($field).+)),
            differs: Box::new(|one, other| one.$($field).+ != other.$($field).+),
            listen: Box::new(|settings| Setting::as_listen(&settings.$($field).+)),
            copy: Box::new(|to, from| to.$($field).+ = from.$($field).+.clone()),
        }
    }};
    (@range $type:ty) => { None };
    (@range $type:ty, $low:literal, $high:literal) => {
        Some((<$type as Setting>::show_bound($low), <$type as Setting>::show_bound($high)))
    };
}
