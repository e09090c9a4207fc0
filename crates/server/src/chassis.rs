//! What a face of another system stands on: all that a face outside of this crate uses of the server, and nothing else.
//!
//! A face begins with its row, a [`Face`], and its settings, which [`face_settings!`](crate::face_settings) makes out of a
//! table. Whoever puts a program together names the rows to [`install`]; listening, accepting, limits, deadlines,
//! counters and the stop then loop over them. What a face asks of the service is here by the part of the server that has it.

pub use crate::config::SettingsOf;
pub use crate::faces::{Face, NeededPool, Protocols, Serves, install};

/// What is written to the audit trail.
pub mod audit {
    pub use crate::audit::{ALLOW_REPEAT, Act, audited, audited_answer, refused, refused_for};
}

/// Who asks, and what they may.
pub mod auth {
    pub use crate::auth::{Identity, Presented, Right, Scram, ScramError, TokenDigest, What};
}

/// The configuration, and what settings are made of.
pub mod config {
    pub use crate::config::table::{Entry, read_table, show_table};
    pub use crate::config::value::quoted;
    pub use crate::config::words::{named, show_named};
    pub use crate::config::{Bytes, Config, FaceAuth, Keys, Names, Prefix, Setting};
}

/// A connection as a face is given it.
pub mod connection {
    pub use crate::connection::Connection;
}

/// Answers that are errors, in words and codes that every face turns into its own.
pub mod error {
    pub use crate::error::{Answer, CODES, Code, ServiceError};
}

/// Ids of every format.
pub mod formats {
    pub use crate::formats::{Make, format, no_time};
}

/// Patterns of names.
pub mod glob {
    pub use crate::glob::matches;
}

/// What faces are called.
pub mod faces {
    pub use crate::faces::name;
}

/// Memory that a connection keeps from one request to the next.
pub mod kept {
    pub use crate::kept::{Full, Heap, Keeping, KeptBytes, allocated};
    pub use crate::plain;
}

/// Numbers for the keys of other systems.
pub mod keyed {
    pub use crate::faces::keyed::{Keyed, NameBuffer, joined};
}

/// Numbers of machines.
pub mod machines {
    pub use crate::faces::machines::{GUARD_MIN, Machines, check_may_make, kept_name, out_of_range, refusal};
}

/// What is counted.
pub mod metrics {
    pub use crate::metrics::{Exposition, FaceId, NamedCounts};
}

/// Warnings about names and clients, none of them twice.
pub mod noise {
    pub use crate::noise::{Asker, Noise};
}

/// The Redis protocol, for faces that speak it too.
pub mod resp {
    pub use crate::faces::resp::{SERVES, at};
    /// Commands.
    pub mod commands {
        pub use crate::faces::resp::commands::{
            Access, Call, CommandRow, Dialect, Flow, ONE_KEY, above_limit,
        };
    }
    /// A connection.
    pub mod connection {
        pub use crate::faces::resp::connection::begin;
    }
    /// Replies.
    pub mod reply {
        pub use crate::faces::resp::reply::Reply;
    }
}

/// Every operation, without protocol.
pub mod service {
    pub use crate::service::{Condition, Door, Service, from_ledger};
}

/// Reading and writing with deadlines.
pub mod socket {
    pub use crate::socket::{End, Socket};
}

/// What a serving thread has.
pub mod thread {
    pub use crate::thread::{ServingThread, Shared};
}

/// Addresses, and who is at the other end.
pub mod transport {
    pub use crate::transport::{Endpoint, Peer, Stream};
}

/// Whose turn it is on a thread.
pub mod turn {
    pub use crate::turn::{LOOK_BYTES, SLICE, Turn};
}

/// How long a connection may wait for what.
pub mod watch {
    pub use crate::watch::{Deadlines, Verdict, Waiting};
}

/// HTTP.
pub mod web {
    pub use crate::faces::web::foreign::begin;
    pub use crate::faces::web::{curl, serves};
    /// Answers.
    pub mod answer {
        pub use crate::faces::web::answer::Response;
    }
    /// What faces of other systems add to HTTP.
    pub mod foreign {
        pub use crate::faces::web::foreign::{Asked, Foreign};
    }
    /// Forms in bodies and queries.
    pub mod form {
        pub use crate::faces::web::form::Form;
    }
    /// Heads of requests.
    pub mod head {
        pub use crate::faces::web::head::Head;
    }
    /// Texts in pages.
    pub mod html {
        pub use crate::faces::web::html::escape;
    }
    /// What servlets do.
    pub mod servlet {
        pub use crate::faces::web::servlet::{extension, tidy};
    }
    /// What Spring Boot's servers do.
    pub mod spring {
        pub use crate::faces::web::spring::{
            HTML, JSON, MISMATCH, TEXT, accepted, error, media_type, refuse,
        };
    }
}
