//! What every face of another system is set by.
//!
//! A face's own settings stand in its folder, as a table that [`face_settings`](crate::face_settings) reads; what all
//! have (where it listens, who may use it, how keys become names) is added there. The sections of all of them are
//! `sections`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use mintage_ledger::Name;

use super::table::{read_table, show_table};
use super::value::{Listen, Setting, quoted};
use super::words::FaceAuth;
use crate::transport::Peer;

/// Who reaches a face, and who may use it.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    /// Where it listens.
    pub listen: Listen,
    /// Whether tokens, where some are configured, must be shown.
    pub auth: FaceAuth,
    /// The networks that its clients may come from; any where none is named.
    pub allow: Vec<IpNet>,
    /// It has paths of its own, which our own port of its protocol can answer too. Fixed.
    pub fits_main: bool,
    /// Its protocol has a place for a token. Fixed.
    pub takes_tokens: bool,
}

impl Access {
    /// Whether a client of this address may connect.
    ///
    /// ```
    /// use mintage_server::config::{Access, FaceAuth, Listen};
    /// let access = Access { listen: Listen::OFF, auth: FaceAuth::Open, allow: vec!["10.0.0.0/8".parse().unwrap()], fits_main: true, takes_tokens: true };
    /// assert!(access.lets_in("10.1.2.3:5".parse().unwrap()) && !access.lets_in("192.168.0.1:5".parse().unwrap()));
    /// ```
    pub fn lets_in(&self, peer: Peer) -> bool {
        let Peer::Tcp(address) = peer else {
            return true;
        };
        let address: IpAddr = address.ip().to_canonical();
        self.allow.is_empty() || self.allow.iter().any(|network| network.contains(&address))
    }

    /// Whether nobody can use it: it asks for a token, which its protocol has no place for.
    pub fn shuts_all_out(&self, tokens_required: bool) -> bool {
        tokens_required && !self.takes_tokens && self.auth == FaceAuth::Token
    }
}

/// How a face's keys become names of sequences.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Keys {
    /// What stands before a key.
    pub prefix: Prefix,
    /// Keys with names of their own.
    pub names: Names,
    /// Whether a key that is not known makes its sequence.
    pub create: bool,
}

impl Keys {
    /// Every key is a name.
    pub(super) const NONE: Keys = Keys {
        prefix: Prefix(String::new()),
        names: Names(BTreeMap::new()),
        create: false,
    };
}

/// What stands before a key to make the name of its sequence.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prefix(pub String);

/// The longest prefix, in bytes.
const PREFIX_BYTES_MAX: usize = 64;

impl Setting for Prefix {
    const KIND: &'static str = "beginning of a name";

    fn parse(text: &str) -> Result<Self, String> {
        match text.len() {
            0 => Ok(Prefix::default()),
            1..=PREFIX_BYTES_MAX => match Name::from_bytes(text.as_bytes()) {
                Ok(_) => Ok(Prefix(text.to_string())),
                Err(error) => Err(format!("{text:?} cannot begin a name: {error}")),
            },
            bytes => Err(format!(
                "{text:?} has {bytes} bytes, the most is {PREFIX_BYTES_MAX}"
            )),
        }
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// The names of keys that do not simply stand behind the prefix.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names(pub BTreeMap<String, Name>);

impl Setting for Names {
    const KIND: &'static str = "table of names";

    fn parse(text: &str) -> Result<Self, String> {
        Self::from_toml(&text.into())
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let entries = read_table(value, "{ \"eu/order\" = \"order-eu\" }")?;
        let read = |(key, name): (String, toml::Value)| {
            let name = name
                .as_str()
                .ok_or_else(|| format!("{key:?} must be a text, found {}", name.type_str()))?;
            let name = Name::from_bytes(name.as_bytes()).map_err(|error| format!("{key:?}: {error}"))?;
            Ok((key, name))
        };
        entries.into_iter().map(read).collect::<Result<_, _>>().map(Names)
    }

    fn show(&self) -> String {
        let entries = self.0.iter();
        show_table(entries.map(|(key, name)| (quoted(key), quoted(name.as_str()))))
    }
}

impl Setting for Vec<IpNet> {
    const KIND: &'static str = "list of networks";

    fn parse(text: &str) -> Result<Self, String> {
        Vec::<String>::parse(text)?
            .iter()
            .map(|text| network(text))
            .collect()
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        Vec::<String>::from_toml(value)?
            .iter()
            .map(|text| network(text))
            .collect()
    }

    fn show(&self) -> String {
        self.iter().map(IpNet::to_string).collect::<Vec<_>>().show()
    }
}

fn network(text: &str) -> Result<IpNet, String> {
    let one = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| one()).map_err(|_| {
        format!("{text:?} is not a network such as \"10.0.0.0/8\", \"fd00::/8\" or \"10.1.2.3\"")
    })
}

/// The settings of a face, out of its table: a type `Settings` with `access`, `keys` (where the face has keys) and a field
/// for each row, and its rows for the whole configuration's table.
#[macro_export]
macro_rules! face_settings {
    (
        $face:literal fits_main: $fits_main:literal $(takes_tokens: $takes_tokens:literal)? $(prefix: $prefix:literal)? $(machines_grow: $grows:ident)?;
        $($(#[doc = $doc:literal])+ $name:literal $field:ident: $type:ty = $default:literal $(in $low:literal ..= $high:literal)?;)*
    ) => {
        #[doc = concat!("What the face `", $face, "` is set by: `faces.", $face, "`.")]
        #[derive(Clone, PartialEq, Debug)]
        pub struct Settings {
            /// Who reaches it, and who may use it.
            pub access: $crate::config::Access,
            /// How keys become names.
            pub keys: $crate::config::Keys,
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl Default for Settings {
            #[allow(unused_imports, dead_code, reason = "a face may have neither keys nor rows of its own")]
            fn default() -> Self {
                use $crate::config::{Access, FaceAuth, Keys, Listen, Setting};
                const READ: &str = "a test reads every default";
                let takes_tokens = [$($takes_tokens,)? true][0];
                Settings {
                    access: Access { listen: Listen::OFF, auth: FaceAuth::Token, allow: Vec::new(), fits_main: $fits_main, takes_tokens },
                    keys: Keys {
                        $(prefix: Setting::parse($prefix).expect(READ),)?
                        ..Keys::default()
                    },
                    $($field: <$type as Setting>::parse($default).expect(READ),)*
                }
            }
        }

        impl $crate::config::Section for Settings {
            const FACE: &'static str = $face;

            fn access(&self) -> &$crate::config::Access {
                &self.access
            }

            fn keys(&self) -> &$crate::config::Keys {
                &self.keys
            }

            $(fn machines_grow(&self) -> bool {
                self.$grows
            })?

            fn rows() -> Vec<$crate::config::Row<Settings>> {
            use $crate::row;
            #[allow(unused_mut, reason = "a face may have neither keys nor rows of its own")]
            let mut rows = vec![row!(
                Settings, concat!("faces.", $face, ".listen"), access.listen: $crate::config::Listen = "off", [],
                "Where the face listens: an address, a list of addresses, `tls:ADDRESS`, `unix:PATH`, `main` for our own port of its protocol where it has its own paths there, or `off`."
            )];
            $(rows.push(row!(
                Settings, concat!("faces.", $face, ".prefix"), keys.prefix: $crate::config::Prefix = $prefix, [],
                "What stands before a key to make the name of its sequence; empty: the key is the name, shared with our own clients."
            ));
            rows.push(row!(
                Settings, concat!("faces.", $face, ".names"), keys.names: $crate::config::Names = "{}", [],
                "Sequences of keys that are no names, or that have another one: `{ \"eu/order\" = \"order-eu\" }`."
            ));
            rows.push(row!(
                Settings, concat!("faces.", $face, ".create"), keys.create: bool = "false", [],
                "Make the sequence of an unknown key when it is first asked for, as far as `sequences.auto_create` allows."
            ));)?
            rows.push(row!(
                Settings, concat!("faces.", $face, ".auth"), access.auth: $crate::config::FaceAuth = "token", [],
                "Where tokens are configured: `token` asks for one; `open` lets everybody take ids, and nobody create, move or drop."
            ));
            rows.push(row!(
                Settings, concat!("faces.", $face, ".allow"), access.allow: Vec<$crate::config::IpNet> = "", [],
                "Networks that clients may come from, such as `10.0.0.0/8`; empty: any."
            ));
            $(rows.push(row!(
                Settings, concat!("faces.", $face, ".", $name), $field: $type = $default, [$($low, $high)?],
                concat!($($doc),+).trim_ascii_start()
            ));)*
            rows
            }
        }
    };
}
