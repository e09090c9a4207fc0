//! Faces that others made: the protocols of other systems over one service.
//!
//! Each is a folder with its row of [`FACES`] and its settings; what it stands on is
//! [`mintage_server::chassis`]. No face names another; what several share is `sql` and the files beside the folders.

pub mod cosid;
pub mod gosnowflake;
pub mod idgo;
mod json_number;
pub mod leaf;
pub mod mysql;
mod pooled;
pub mod postgres;
pub mod postgrest;
pub mod prest;
mod qualified;
pub mod sonyflake;
mod sql;
pub mod thrift;
pub mod tinyid;
mod zone;

use mintage_server::chassis::Face;

/// Every face of another system.
pub static FACES: &[Face] = &[
    leaf::FACE,
    tinyid::FACE,
    cosid::FACE,
    idgo::FACE,
    thrift::FACE,
    sonyflake::FACE,
    gosnowflake::FACE,
    mysql::FACE,
    postgrest::FACE,
    prest::FACE,
    postgres::FACE,
];

/// A configuration with the settings of these faces.
pub fn config() -> mintage_server::config::Config {
    mintage_server::install(FACES);
    mintage_server::config::Config::default()
}
