//! Every target: a file each, and a line here.

mod config;
mod formats;
mod grpc;
mod http;
mod inspect;
mod layout;
mod mysql;
mod names;
mod numbers;
mod postgres;
mod resp;
mod rows;
mod scripts;
mod sql_login;
mod state;
mod thrift;
mod time;
mod uuid_text;
mod zookeeper;

use crate::Target;

/// Every target.
pub fn targets() -> Vec<Target> {
    let mut all = Vec::new();
    all.extend(formats::targets());
    all.extend(uuid_text::targets());
    all.extend(numbers::targets());
    all.push(inspect::target());
    all.push(layout::target());
    all.extend(names::targets());
    all.push(time::target());
    all.extend(resp::targets());
    all.push(thrift::target());
    all.push(zookeeper::target());
    all.extend(mysql::targets());
    all.extend(postgres::targets());
    all.push(scripts::target());
    all.extend(http::targets());
    all.push(grpc::target());
    all.extend(sql_login::targets());
    all.extend(config::targets());
    all.extend(state::targets());
    all.extend(rows::targets());
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_fit_a_folder() {
        let mut names = HashSet::new();
        for target in targets() {
            assert!(
                target
                    .name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-'),
                "{}",
                target.name
            );
            assert!(names.insert(target.name.clone()), "{} twice", target.name);
            assert!(!target.seeds.is_empty(), "{}", target.name);
        }
    }
}
