//! A real server's life: ready, killed, restarted with its data, compacted, frozen, stopped.
//!
//! Needs the built binaries, so it runs only with `INFORMER_TEST_REAL_APISERVER=1`, as `cargo xtask e2e` does.

use std::net::TcpStream;
use std::path::Path;

use informer_real_apiserver::{Options, RealApiServer};

/// Whether the server is to be tested; says so if not.
fn is_wanted() -> bool {
    let wanted = std::env::var_os("INFORMER_TEST_REAL_APISERVER").is_some();
    if !wanted {
        println!("skipped: `cargo xtask e2e` builds the servers and runs this");
    }
    wanted
}

fn is_listening(server: &RealApiServer) -> bool {
    TcpStream::connect(server.url().trim_start_matches("https://")).is_ok()
}

/// The number after `"resourceVersion":"` in the first object of an answer.
fn resource_version(body: &str) -> u64 {
    let (_, rest) = body.split_once(r#""resourceVersion":"#).unwrap();
    let digits = rest.trim_start_matches([' ', '"']);
    digits[..digits.find('"').unwrap()].parse().unwrap()
}

#[test]
fn killed_server_comes_back_with_its_data_at_its_address() {
    if !is_wanted() {
        return;
    }
    let mut server = RealApiServer::start(&Options::default()).unwrap();
    let (url, folder) = (server.url(), server.directory().to_owned());
    assert!(server.kubeconfig().is_absolute() && server.ca_certificate().is_file());

    let maps = "/api/v1/namespaces/default/configmaps";
    let created = server.request("POST", maps, r#"{"metadata":{"name":"kept"},"data":{"a":"b"}}"#).unwrap();
    assert_eq!(created.status, 201, "{}", created.body);

    server.kill_apiserver().unwrap();
    assert!(!is_listening(&server));
    server.check().unwrap();
    server.start_apiserver().unwrap();
    assert_eq!(server.url(), url);
    let found = server.request("GET", &format!("{maps}/kept"), "").unwrap();
    assert_eq!(found.status, 200, "{}", found.body);

    server.stop().unwrap();
    assert!(!folder.exists());
}

#[test]
fn compacted_versions_expire() {
    if !is_wanted() {
        return;
    }
    // Without the watch cache each answer is etcd's.
    let server = RealApiServer::start(&Options { watch_cache: false, ..Options::default() }).unwrap();
    let maps = "/api/v1/namespaces/default/configmaps";
    let first = server.request("POST", maps, r#"{"metadata":{"name":"first"}}"#).unwrap();
    let second = server.request("POST", maps, r#"{"metadata":{"name":"second"}}"#).unwrap();
    server.compact(resource_version(&second.body)).unwrap();
    let old = resource_version(&first.body);
    let query = format!("{maps}?limit=1&resourceVersion={old}&resourceVersionMatch=Exact");
    let answer = server.request("GET", &query, "").unwrap();
    assert_eq!(answer.status, 410, "{}", answer.body);
    assert!(server.compact(old).is_err());
}

#[test]
fn frozen_server_thaws_and_a_dropped_one_leaves_nothing() {
    if !is_wanted() {
        return;
    }
    let mut server = RealApiServer::start(&Options::default()).unwrap();
    server.freeze_apiserver().unwrap();
    // The kernel still accepts for it: the connection is open and silent.
    assert!(is_listening(&server));
    server.thaw_apiserver().unwrap();
    assert_eq!(server.request("GET", "/readyz", "").unwrap().status, 200);
    server.freeze_apiserver().unwrap();
    let folder = server.directory().to_owned();
    let address = server.url().trim_start_matches("https://").to_owned();
    drop(server);
    assert!(!folder.exists());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn kept_folder_is_started_from_again() {
    if !is_wanted() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept");
    let _ = std::fs::remove_dir_all(&folder);
    let options = Options { directory: Some(folder.clone()), ..Options::default() };
    let server = RealApiServer::start(&options).unwrap();
    let maps = "/api/v1/namespaces/default/configmaps";
    assert_eq!(server.request("POST", maps, r#"{"metadata":{"name":"kept"}}"#).unwrap().status, 201);
    server.stop().unwrap();
    let server = RealApiServer::start(&options).unwrap();
    assert_eq!(server.request("GET", &format!("{maps}/kept"), "").unwrap().status, 200);
    server.stop().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_flag_that_is_refused_is_an_error_with_the_log() {
    if !is_wanted() {
        return;
    }
    let options = Options { extra_flags: vec!["--no-such-flag".to_owned()], ..Options::default() };
    let text = RealApiServer::start(&options).unwrap_err().to_string();
    assert!(text.contains("kube-apiserver ended by itself") && text.contains("no-such-flag"), "{text}");
}
