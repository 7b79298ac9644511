//! The suite is built with everything else, and says what it would run.
//!
//! `cargo xtask e2e` relies on that: it runs the very binary that the workspace's tests have built.

use std::process::Command;

#[test]
fn the_suite_lists_its_cases() {
    let output = Command::new(env!("CARGO_BIN_EXE_informer-e2e")).output().expect("it runs");
    assert!(output.status.success());
    let cases = String::from_utf8(output.stdout).expect("names are text");
    assert!(cases.lines().any(|case| case == "a_killed_server_is_survived"), "{cases}");
}
