//! The settings of this face.

use crate::zone::Zone;
use mintage_server::face_settings;

use super::generators::{Generator, Generators, Kind, Namespace, SHARE};

face_settings! {
    "cosid" fits_main: true prefix: "cosid:" machines_grow: grows;
    /// What makes the ids of `/ids`: `segment`, which counts 1, 2, 3 … as the proxy does that is shipped, or `snowflake`, out of the pool `cosid`.
    "share" share: Kind = "segment";
    /// Generators behind `/ids/NAME`, as `cosid.segment.provider` and `cosid.snowflake.provider` list them: `{ order = { converter = "radix36", prefix = "O-" } }`; `__share__` is that of `/ids`. docs/cosid.md has the members.
    "generators" generators: Generators = "{}";
    /// The namespace of generators that are segments: the sequence of one is `NAMESPACE.NAME` behind the prefix.
    "namespace" namespace: Namespace = "cosid-proxy";
    /// Whether machines may ask with fewer bits than their namespace has, as in a fleet whose `machineBit` grows; namespaces are made with 10 bits then. Only where `sequence-bit` is the same for all of them, and never for a fleet that shrinks: ids could be the same.
    "grows" grows: bool = "false";
    /// The zone of dates in texts of ids: a name such as `Asia/Shanghai`, or an offset such as `+08:00`.
    "time_zone" time_zone: Zone = "UTC";
}

impl Settings {
    /// A generator that is configured, or the one that is always there.
    pub(super) fn generator(&self, name: &str) -> Option<Generator> {
        let listed = self.generators.0.get(name);
        if name != SHARE {
            return listed.cloned();
        }
        let mut share = listed.cloned().unwrap_or_default();
        share.kind.get_or_insert(self.share);
        Some(share)
    }

    /// The names of all of them.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let listed = self.generators.0.keys().map(String::as_str);
        std::iter::once(SHARE).chain(listed.filter(|name| *name != SHARE))
    }
}
