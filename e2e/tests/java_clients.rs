//! Clients of Java out of the public repository, unmodified (`e2e/clients/java`): CosId's generators and guarder,
//! Lettuce and Jedis, and uid-generator with its mappers of MyBatis. Each takes ids while its server is killed.
//! Spring's RestTemplate, Thrift and the drivers of JDBC are in `face_leaf`, `thrift` and `face_mysql`.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::outside::no_repeats;
use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::{binary, need};

/// A program with the jars of a list, and what it is told.
fn java(jars: &str, program: &str, words: &[&str]) -> Option<Command> {
    let class_path = need::java_clients(jars)?;
    let mut command = Command::new("timeout");
    command
        .args(["300", "java", "-cp", &class_path])
        .arg(binary::root().join("e2e/clients/java").join(program))
        .args(words);
    Some(command)
}

/// What `CosIdClient` takes: two threads of a SegmentChainId, three instances with a SnowflakeId.
const COSID_IDS: usize = 2 * 5_000 + 3 * 1_500;

/// SpringRedisIdSegmentDistributor and SpringRedisMachineIdDistributor, with the scripts of their jar.
#[test]
#[ignore = "minutes: Java"]
fn cosid_over_redis_has_every_id_once_and_keeps_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut faces = Faces::run(folder.path(), &[], &[]);
    let port = faces.server().resp.port().to_string();
    let Some(mut client) = java("cosid", "CosIdClient.java", &["redis", &port]) else {
        return;
    };
    let ids = no_repeats(&mut client, || faces.kill_and_start());
    assert_eq!(ids.len(), COSID_IDS);
}

#[test]
#[ignore = "minutes: Java"]
fn cosid_over_its_proxy_has_every_id_once_and_keeps_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut faces = Faces::run(folder.path(), &["cosid"], &[]);
    let port = faces.place("cosid").at.port().to_string();
    let Some(mut client) = java("cosid", "CosIdClient.java", &["proxy", &port]) else {
        return;
    };
    let ids = no_repeats(&mut client, || faces.kill_and_start());
    assert_eq!(ids.len(), COSID_IDS);
}

#[test]
#[ignore = "minutes: Java"]
fn lettuce_and_jedis_have_every_number_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut faces = Faces::run(folder.path(), &[], &[]);
    let port = faces.server().resp.port().to_string();
    let Some(mut client) = java("cosid", "RedisClients.java", &[&port]) else {
        return;
    };
    no_repeats(&mut client, || faces.kill_and_start());
}

#[test]
#[ignore = "minutes: Java"]
fn uid_generator_draws_every_worker_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut faces = Faces::run(folder.path(), &["mysql"], &[]);
    // As its move makes it: it ends with the workers' 22 bits.
    let made = faces
        .server()
        .http("PUT", "/v1/sequences/WORKER_NODE", r#"{"max":"4194303"}"#);
    assert_eq!(made.status, 201, "{}", made.text());
    let words = faces.place("mysql").words();
    let words = words.each_ref().map(String::as_str);
    let Some(mut client) = java("uid-generator", "UidGeneratorClient.java", &words) else {
        return;
    };
    let ids = no_repeats(&mut client, || faces.kill_and_start());
    assert_eq!(ids.len(), 60 * 100);
}
