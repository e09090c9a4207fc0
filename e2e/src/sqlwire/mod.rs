//! The faces that speak PostgreSQL's and MySQL's wire protocols, and the originals beside them: where clients connect,
//! the stock clients as programs, what they were given, and plain clients over raw sockets.

pub mod clients;
pub mod face;
pub mod mysql_wire;
pub mod numbers;
pub mod originals;
pub mod place;
pub mod postgres_wire;
pub mod statements;
