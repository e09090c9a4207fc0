//! What client and server can do: one bit each. What counts is what both have.

/// The bits of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities(pub u32);

impl Capabilities {
    /// What a client of MySQL's own sets; a server that leaves it out says that it is MariaDB.
    pub const LONG_PASSWORD: Capabilities = Capabilities(1);
    /// Affected rows are those that were found.
    pub const FOUND_ROWS: Capabilities = Capabilities(1 << 1);
    /// Flags of columns have two bytes.
    pub const LONG_FLAG: Capabilities = Capabilities(1 << 2);
    /// The login names a database.
    pub const CONNECT_WITH_DB: Capabilities = Capabilities(1 << 3);
    /// Blanks may stand between a function and its parenthesis.
    pub const IGNORE_SPACE: Capabilities = Capabilities(1 << 8);
    /// The protocol of version 4.1.
    pub const PROTOCOL_41: Capabilities = Capabilities(1 << 9);
    /// TLS.
    pub const SSL: Capabilities = Capabilities(1 << 11);
    /// Status flags say whether a transaction is open.
    pub const TRANSACTIONS: Capabilities = Capabilities(1 << 13);
    /// The password's answer stands behind its length.
    pub const SECURE_CONNECTION: Capabilities = Capabilities(1 << 15);
    /// Several statements in one text.
    pub const MULTI_STATEMENTS: Capabilities = Capabilities(1 << 16);
    /// Several results to one text.
    pub const MULTI_RESULTS: Capabilities = Capabilities(1 << 17);
    /// The same to prepared statements.
    pub const PS_MULTI_RESULTS: Capabilities = Capabilities(1 << 18);
    /// Ways to log in have names.
    pub const PLUGIN_AUTH: Capabilities = Capabilities(1 << 19);
    /// The login tells what the client is.
    pub const CONNECT_ATTRS: Capabilities = Capabilities(1 << 20);
    /// The length of the password's answer may have several bytes.
    pub const PLUGIN_AUTH_LENENC: Capabilities = Capabilities(1 << 21);

    /// What this server has, where TLS is off. Neither local files, nor compression, nor changes of the session in answers.
    pub const OURS: Capabilities = Capabilities(
        Self::FOUND_ROWS.0
            | Self::LONG_FLAG.0
            | Self::CONNECT_WITH_DB.0
            | Self::IGNORE_SPACE.0
            | Self::PROTOCOL_41.0
            | Self::TRANSACTIONS.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC.0,
    );

    /// Whether these are among them.
    pub const fn has(self, others: Capabilities) -> bool {
        self.0 & others.0 == others.0
    }

    /// What both have.
    #[must_use]
    pub const fn and(self, others: Capabilities) -> Capabilities {
        Capabilities(self.0 & others.0)
    }

    /// These and others.
    #[must_use]
    pub const fn with(self, others: Capabilities) -> Capabilities {
        Capabilities(self.0 | others.0)
    }

    /// These without others.
    #[must_use]
    pub const fn without(self, others: Capabilities) -> Capabilities {
        Capabilities(self.0 & !others.0)
    }
}

/// The status of a connection, in answers.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 1;
    /// Each statement is a transaction.
    pub const AUTOCOMMIT: u16 = 2;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 8;
    /// The transaction that is open only reads.
    pub const READ_ONLY: u16 = 0x2000;
}
