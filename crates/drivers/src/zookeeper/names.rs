//! How registers' keys are written as names of nodes.

use super::super::Key;

/// The paths of our nodes.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// Empty, or a path that begins with a slash.
    pub(super) chroot: String,
    pub(super) meta: String,
    pub(super) register: String,
}

impl Names {
    /// The paths under a chroot, which has no slash at either end.
    pub(super) fn under(chroot: &str) -> Names {
        let chroot = match chroot {
            "" => String::new(),
            chroot => format!("/{chroot}"),
        };
        Names {
            meta: format!("{chroot}/mint_meta"),
            register: format!("{chroot}/mint_register"),
            chroot,
        }
    }

    /// The node that tells the registers of this cluster from those of another one, and from none: no key has this
    /// name.
    pub(super) fn sentinel(&self, cluster_id: u128) -> String {
        format!("{}/#{cluster_id:032x}", self.register)
    }

    /// The node of a register; its data is in the one node below.
    pub(super) fn base(&self, key: &Key) -> String {
        format!("{}/{}", self.register, escaped(key))
    }
}

/// A key as one name: `!` for `/`, which stands in no key, and `%` for a dot in front, since `.` and `..` are no names;
/// no key begins so.
fn escaped(key: &Key) -> String {
    let name = key.as_str().replace('/', "!");
    match name.strip_prefix('.') {
        Some(rest) => format!("%{rest}"),
        None => name,
    }
}

/// The opposite of [`escaped`]; `None` for a name that it does not make.
pub(super) fn key_of(name: &str) -> Option<Key> {
    let plain = match name.strip_prefix('%') {
        Some(rest) => format!(".{rest}"),
        None => name.to_string(),
    };
    let key = Key::new(plain.replace('!', "/")).ok()?;
    (escaped(&key) == name).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_one_name_and_comes_back() {
        for (key, name) in [
            ("seq/orders", "seq!orders"),
            (".", "%"),
            ("..", "%."),
            ("./a", "%!a"),
            ("a//b/", "a!!b!"),
            ("A-z_0:9.x", "A-z_0:9.x"),
            ("seq/Seq%20Invoice", "seq!Seq%20Invoice"),
            ("seq/.~~{a}~\"\\", "seq!.~~{a}~\"\\"),
        ] {
            let key = Key::new(key).unwrap();
            assert_eq!(escaped(&key), name);
            assert_eq!(key_of(name), Some(key));
        }
        for name in ["", "a/b", ".a", "a b", "ü", "#2b1e"] {
            assert_eq!(key_of(name), None, "{name:?}");
        }
        assert_eq!(
            Names::under("").base(&Key::new("a/b").unwrap()),
            "/mint_register/a!b"
        );
        assert_eq!(Names::under("x/y").meta, "/x/y/mint_meta");
    }
}
