//! The MySQL store on a real MariaDB.

use mintage_e2e::engine::mariadb::Mariadb;

mintage_e2e::store_suite!(Mariadb::run());
