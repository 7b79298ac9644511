//! The rules of this repository that no compiler checks, as tests.
//!
//! Each rule says why it exists, and its failure says what to do. A rule that is in the way is changed here, with
//! its reason, in the same change.

mod files;
mod layers;
mod shown;
mod text;

use files::{File, repository};

/// Fails the test with every problem and with what to do about them.
#[track_caller]
fn expect_none(problems: Vec<String>, what_to_do: &str) {
    assert!(problems.is_empty(), "\n  {}\n\n{what_to_do}\n", problems.join("\n  "));
}

/// Checks each file by itself.
fn check(is_meant: impl Fn(&File) -> bool, rule: impl Fn(&File) -> Vec<String>) -> Vec<String> {
    repository().iter().filter(|file| is_meant(file)).flat_map(rule).collect()
}

/// Rationale: a file that fits in one reading holds one concept; what grows past it holds two.
#[test]
fn rust_files_are_short() {
    let problems = check(File::is_rust, text::too_long);
    expect_none(problems, "Split the file by concept; large tests go to a file of their own (`tests.rs`).");
}

/// Rationale: whoever opens a file, or reads a list of modules, learns from one sentence whether it is theirs.
#[test]
fn modules_start_with_their_docs() {
    let problems = check(|file| file.is_rust() && file.is_in("src"), text::no_module_docs);
    expect_none(problems, "Begin the file with `//!` and one sentence: what this module is.");
}

/// Rationale: what is not done is not in the code but in a plan; a test that is not run proves nothing.
#[test]
fn nothing_is_left_over() {
    let problems = check(|file| file.is_rust() || file.has_extension(&["go", "sh"]), text::leftovers);
    expect_none(problems, "Finish it or take it out.");
}

/// Rationale: trailing spaces make differences that nobody sees.
#[test]
fn no_line_ends_with_spaces() {
    expect_none(check(|_| true, text::trailing_spaces), "Remove the spaces at the end of these lines.");
}

/// Rationale: the sources mean the same on every machine.
#[test]
fn no_path_of_one_machine() {
    expect_none(
        check(|_| true, text::machine_paths),
        "Write a path relative to the repository, or find it at run time.",
    );
}

/// Rationale: a machine that is told the time and never asks can be replayed, simulated and tested without waiting.
#[test]
fn core_has_no_clock_and_no_io() {
    let problems =
        check(|file| file.is_rust() && file.path.starts_with("crates/informer-core/src/"), text::impurities);
    expect_none(
        problems,
        "Take time, randomness and IO as an argument (`Now`, a seed, an input); the shell supplies them.",
    );
}

/// Rationale: one list of lints, in the root Cargo.toml; a crate that forgets it may use unsafe code.
#[test]
fn every_crate_inherits_the_lints() {
    let mut problems = check(|file| file.path.ends_with("Cargo.toml"), text::lints_not_inherited);
    let root = repository().iter().find(|file| file.path == "Cargo.toml").expect("the root has a Cargo.toml");
    if !text::has_entry(&root.text, "workspace.lints.rust", "unsafe_code", "\"forbid\"") {
        problems.push("Cargo.toml: [workspace.lints.rust] does not forbid unsafe_code".to_owned());
    }
    expect_none(problems, "Add the two lines `[lints]` and `workspace = true` to the crate's Cargo.toml.");
}

/// Rationale: a promise stated twice is kept once.
#[test]
fn oldest_compiler_is_the_same_everywhere() {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let mut problems = Vec::new();
    for file in repository() {
        match file.path.as_str() {
            "clippy.toml" if !file.text.contains(&format!("msrv = \"{version}\"")) => {
                problems.push(format!("clippy.toml: msrv is not {version}"));
            }
            "README.md" | "CONTRIBUTING.md" => problems.extend(text::other_compilers(file, version)),
            _ => {}
        }
    }
    expect_none(problems, "Say what `rust-version` in the root Cargo.toml says.");
}

/// Rationale: the arrows between crates are the architecture: the pure parts stay pure only while they cannot
/// reach the rest, and a test server that shared code with what it tests would share its mistakes.
#[test]
fn dependencies_follow_the_layers() {
    let problems = layers::problems(&layers::workspace());
    expect_none(
        problems,
        "Move the code to a layer that may depend on it; the layers are listed in `layers.rs`.",
    );
}

/// Rationale: code on a page that nobody compiles is wrong sooner or later, and a newcomer meets it first.
#[test]
fn code_on_pages_is_part_of_programs_that_run() {
    expect_none(
        shown::problems(repository()),
        "Copy the block from the program, or mark code of others with more than `rust`; the pages are listed in `shown.rs`.",
    );
}
