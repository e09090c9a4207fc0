//! The SQL packs: how they are put together, and private database servers to run them in.

pub mod decoded;
pub mod mariadb;
pub mod pack;
pub mod page;
pub mod postgres;
pub mod samples;
pub mod template;
pub mod vectors;
