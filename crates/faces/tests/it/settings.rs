//! Rows of faces and their settings, and what the whole configuration says of them.

use mintage_faces::thrift;
use mintage_server::config::{Config, FaceAuth, Listen, Loaded, Setting, keys};
use mintage_server::faces;

use crate::common::token;

#[test]
fn every_row_fits_the_settings() {
    let config = crate::config();
    for face in faces::all() {
        let path = format!("{}.listen", face.section);
        let key = keys().iter().find(|key| key.path == path);
        let listen = (face.listen)(&config);
        assert_eq!(
            (key.expect("it is a setting").listen)(&config),
            Some(listen),
            "{path}"
        );
        // It is off, or where its row says.
        let expected = format!("127.0.0.1:{}", face.port);
        let given: Vec<String> = listen.endpoints.iter().map(ToString::to_string).collect();
        assert!(listen.is_off() || listen.main || given == [expected], "{path}");
        let shares = face.access(&config).is_some_and(|access| access.fits_main);
        assert_eq!(shares, face.foreign.is_some(), "{}", face.name);
        let others = faces::all().filter(|other| other.port == face.port);
        assert_eq!(others.count(), 1, "port {}", face.port);
        for pool in (face.pools)(&config) {
            assert!(mintage::preset(pool.preset).is_some(), "{}", pool.preset);
        }
    }
}

#[test]
fn a_face_without_tokens_is_told_the_ways_that_it_has() {
    let mut config = crate::config();
    config.faces.get_mut::<thrift::Settings>().access.listen = Listen::parse("0.0.0.0:7609").unwrap();
    let hint = config.validate().unwrap_err().hint.unwrap();
    assert!(
        hint.starts_with("one of two") && hint.contains("faces.thrift.allow"),
        "{hint}"
    );
    config.faces.get_mut::<thrift::Settings>().access.auth = FaceAuth::Open;
    assert!(config.validate().is_err());
    config.faces.get_mut::<thrift::Settings>().access.allow = vec!["10.0.0.0/8".parse().unwrap()];
    assert!(config.validate().unwrap()[0].contains("networks of allow"));
}

#[test]
fn a_face_that_nobody_can_use_is_warned_of() {
    let mut config = Config {
        tokens: vec![token("a", "t", &[])],
        ..crate::config()
    };
    assert_eq!(config.validate().unwrap(), [""; 0]);
    config.faces.get_mut::<thrift::Settings>().access.listen = Listen::parse("127.0.0.1:7609").unwrap();
    let warnings = config.validate().unwrap();
    assert!(
        warnings[0].contains("set faces.thrift.auth = \"open\""),
        "{warnings:?}"
    );
    config.faces.get_mut::<thrift::Settings>().access.auth = FaceAuth::Open;
    assert_eq!(config.validate().unwrap(), [""; 0]);
}

#[test]
fn a_file_that_has_tokens_of_a_face_is_judged_as_one_that_has_our_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mint.toml");
    for (text, is_believed) in [
        ("[faces.tinyid]\nstep = 5", true),
        ("[faces.tinyid]\ntokens = []", false),
    ] {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        crate::config();
        let mut loaded = Loaded::default();
        loaded.read_text(text, &path).unwrap();
        assert_eq!(loaded.check_files().is_ok(), is_believed, "{text}");
    }
}
