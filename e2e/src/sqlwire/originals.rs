//! Private servers of the originals, with what the clients ask for: a sequence `orders`, and for MySQL's clients the
//! table `tickets`, made as Flickr made its.

use super::place::Place;
use crate::engine::mariadb::Mariadb;
use crate::engine::postgres::Postgres;
use crate::store_suite::Engine;

/// A PostgreSQL; `None`, said in words, where there is none.
///
/// # Panics
/// When it does not start.
pub fn postgres() -> Option<(Postgres, Place)> {
    let server = Postgres::borrow()?;
    server.admin(
        "ids",
        "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'secret'; SET ROLE app; CREATE SEQUENCE orders",
    );
    let place = Place::of_app(server.address());
    Some((server, place))
}

/// A MariaDB; `None`, said in words, where there is none.
///
/// # Panics
/// When it does not start.
pub fn mariadb() -> Option<(Mariadb, Place)> {
    let server = Mariadb::borrow()?;
    server.admin(
        "ids",
        "CREATE USER app@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO app@'%'; CREATE SEQUENCE orders",
    );
    server.admin("ids", TICKETS);
    let place = Place::of_app(server.address());
    Some((server, place))
}

/// <https://code.flickr.net/2010/02/08/ticket-servers-distributed-unique-primary-keys-on-the-cheap/>
pub const TICKETS: &str = "CREATE TABLE `tickets` (\
     `id` bigint(20) unsigned NOT NULL auto_increment, \
     `stub` char(1) NOT NULL default '', \
     PRIMARY KEY (`id`), UNIQUE KEY `stub` (`stub`)) ENGINE=MyISAM";
