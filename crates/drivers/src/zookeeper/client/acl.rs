//! Who may do what with a node.

/// Who may do what with a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acl {
    /// The sum of read (1), write (2), create (4), delete (8) and administer (16).
    pub rights: i32,
    /// `world`, `digest`, `auth` and so on.
    pub scheme: String,
    /// Who, in the words of the scheme.
    pub id: String,
}

impl Acl {
    /// All rights.
    pub const ALL: i32 = 31;
    /// The right to read.
    pub const READ: i32 = 1;

    /// All rights for everybody.
    pub fn anyone() -> Acl {
        Acl::new(Acl::ALL, "world", "anyone")
    }

    /// All rights for the account of whoever makes the node.
    pub fn creator() -> Acl {
        Acl::new(Acl::ALL, "auth", "")
    }

    /// Rights for one.
    pub fn new(rights: i32, scheme: &str, id: &str) -> Acl {
        Acl {
            rights,
            scheme: scheme.to_string(),
            id: id.to_string(),
        }
    }
}
