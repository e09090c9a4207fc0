//! The PostgreSQL store on a real server.

use mintage_e2e::engine::postgres::Postgres;

mintage_e2e::store_suite!(Postgres::run());
