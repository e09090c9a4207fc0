//! Which history of a Galera cluster a node shows: another one may lack writes that were acknowledged.
//!
//! A cluster keeps its UUID when one node that lags is bootstrapped, and its configuration id may then be the very one
//! that the others have. What tells the histories apart is who lived through both: a node takes a new UUID whenever it
//! starts, and an acknowledged write has reached every member of the configuration. So a later configuration that has
//! most members of an earlier one still running in it has all that was acknowledged there, and any other may not.

/// A configuration of the cluster, as the name of a copy: `galera UUID 7 f820b241-b043,f8548008-b044`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct View {
    cluster: String,
    /// Counts the changes of membership.
    id: u64,
    /// How many members it has, of which those that fit a column are named.
    size: usize,
    /// In order.
    members: Vec<String>,
}

/// What the names of copies of Galera start with.
const PREFIX: &str = "galera ";

/// How many members are named: the column has 200 characters.
const NAMED_MAX: usize = 9;

impl View {
    /// A configuration whose members have these UUIDs; `None` when one is no UUID.
    pub(in super::super) fn new(cluster: &str, id: u64, uuids: &[&str]) -> Option<View> {
        let mut members = Vec::with_capacity(uuids.len());
        for uuid in uuids {
            // The time at which a node was made, and what a restart counts up.
            let mut parts = uuid.split('-');
            members.push(format!("{}-{}", parts.next()?, parts.nth(2)?));
        }
        members.sort_unstable();
        members.truncate(NAMED_MAX);
        Some(View {
            cluster: cluster.to_string(),
            id,
            size: uuids.len(),
            members,
        })
    }

    /// Its text, as a column keeps it.
    pub(in super::super) fn text(&self) -> String {
        let View {
            cluster, id, size, ..
        } = self;
        format!("{PREFIX}{cluster} {id} {size} {}", self.members.join(","))
    }

    fn read(text: &str) -> Option<View> {
        let mut words = text.strip_prefix(PREFIX)?.split(' ');
        let view = View {
            cluster: words.next()?.to_string(),
            id: words.next()?.parse().ok()?,
            size: words.next()?.parse().ok()?,
            members: words.next()?.split(',').map(String::from).collect(),
        };
        words.next().is_none().then_some(view)
    }
}

/// Whether a copy is the later history of another: the same cluster, a later configuration, and most of the earlier
/// one's members in it, never restarted.
pub(super) fn goes_on(earlier: &str, later: &str) -> bool {
    let (Some(earlier), Some(later)) = (View::read(earlier), View::read(later)) else {
        return false;
    };
    let stayed = |member: &&String| later.members.contains(member);
    let stayed = earlier.members.iter().filter(stayed).count();
    earlier.cluster == later.cluster && later.id > earlier.id && stayed * 2 > earlier.size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node's UUID: who it is, and how often it was started.
    fn node(name: u8, start: u8) -> String {
        format!("{name:08x}-e671-11f1-b0{start:02x}-329777e7c439")
    }

    fn view(id: u64, nodes: &[(u8, u8)]) -> String {
        let uuids: Vec<String> = nodes.iter().map(|(name, start)| node(*name, *start)).collect();
        let uuids: Vec<&str> = uuids.iter().map(String::as_str).collect();
        View::new("f8219a38-e671-11f1-bda7-07752123793d", id, &uuids)
            .unwrap()
            .text()
    }

    const ALL: [(u8, u8); 3] = [(1, 0), (2, 0), (3, 0)];

    #[test]
    fn a_view_is_read_as_it_is_written_and_fits_its_column() {
        let many: Vec<(u8, u8)> = (0..60).map(|name| (name, 0)).collect();
        for nodes in [&ALL[..], &ALL[..1], &many] {
            let text = view(u64::MAX - 1, nodes);
            assert!(text.len() <= 200, "{text}");
            assert_eq!(View::read(&text).unwrap().text(), text);
        }
        for text in [
            "galera",
            "galera u 1",
            "server_id 3",
            "galera u x 1 a",
            "galera u 1 1 a b",
        ] {
            assert_eq!(View::read(text), None, "{text}");
        }
        assert_eq!(View::new("u", 1, &["n1"]), None);
    }

    #[test]
    fn a_history_goes_on_where_most_members_lived_through_it() {
        let before = view(3, &ALL);
        for (later, goes) in [
            // One died, came back, was added.
            (view(4, &[(1, 0), (3, 0)]), true),
            (view(5, &[(1, 0), (2, 1), (3, 0)]), true),
            (view(4, &[(1, 0), (2, 0), (3, 0), (4, 0)]), true),
            // The one most behind was started anew by itself, or cut off and bootstrapped, alone or with the others
            // who joined it later.
            (view(1, &[(2, 1)]), false),
            (view(4, &[(2, 0)]), false),
            (view(6, &[(1, 1), (2, 0), (3, 1)]), false),
            (view(9, &[(1, 1), (2, 1), (3, 1)]), false),
            // The same number for others, and an earlier one.
            (view(3, &[(1, 0), (2, 0)]), false),
            (view(2, &[(1, 0), (2, 0)]), false),
        ] {
            assert_eq!(goes_on(&before, &later), goes, "{later}");
        }
        assert!(!goes_on("galera", &before));
        assert!(!goes_on(
            &before.replace("galera f8", "galera f9"),
            &view(4, &ALL)
        ));
    }
}
