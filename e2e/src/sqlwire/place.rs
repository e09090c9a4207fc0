//! Where clients of SQL connect.

use std::net::SocketAddr;

/// A server that speaks one of the protocols, and an account that may do everything in its database `ids`.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where it listens.
    pub at: SocketAddr,
    /// The account.
    pub user: String,
    /// Its password.
    pub password: String,
}

impl Place {
    /// The account `app`, whose password is `secret`.
    pub fn of_app(at: SocketAddr) -> Place {
        Place {
            at,
            user: "app".into(),
            password: "secret".into(),
        }
    }

    /// What each program of `e2e/clients/sql` is told.
    pub fn words(&self) -> [String; 3] {
        [
            self.at.port().to_string(),
            self.user.clone(),
            self.password.clone(),
        ]
    }
}
