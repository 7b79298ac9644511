//! Rules about the text of one file.

use crate::File;

/// The first number of lines that is too many.
const TOO_MANY_LINES: usize = 500;

/// Spelled in parts, so that this file does not break its own rules.
const LEFTOVERS: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("#[ign", "ore"),
];

const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Names of what asks the world: clocks, threads, random numbers, IO.
const IMPURE: &[&str] = &[
    "Instant",
    "SystemTime",
    "getrandom",
    "println!",
    "eprintln!",
    "rand",
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "thread_rng",
];

pub(crate) fn too_long(file: &File) -> Vec<String> {
    let lines = file.text.lines().count();
    if lines < TOO_MANY_LINES { Vec::new() } else { vec![format!("{}: {lines} lines", file.path)] }
}

pub(crate) fn no_module_docs(file: &File) -> Vec<String> {
    let first = file.text.lines().next().unwrap_or("");
    let has_docs = first.strip_prefix("//!").is_some_and(|docs| !docs.trim().is_empty());
    if has_docs { Vec::new() } else { vec![file.at(0, "no module docs on the first line")] }
}

pub(crate) fn leftovers(file: &File) -> Vec<String> {
    lines_with_any(file, LEFTOVERS, |line| line)
}

pub(crate) fn trailing_spaces(file: &File) -> Vec<String> {
    let lines = file.text.split('\n').enumerate();
    let bad = lines.filter(|(_, line)| line.ends_with(|c: char| c.is_whitespace()));
    bad.map(|(index, _)| file.at(index, "ends with white space")).collect()
}

pub(crate) fn machine_paths(file: &File) -> Vec<String> {
    lines_with_any(file, MACHINE_PATHS, |line| line)
}

pub(crate) fn impurities(file: &File) -> Vec<String> {
    // Comments may speak of a clock.
    lines_with_any(file, IMPURE, |line| line.split("//").next().unwrap_or(line))
}

pub(crate) fn lints_not_inherited(file: &File) -> Vec<String> {
    let is_crate = file.text.lines().any(|line| line.trim() == "[package]");
    if !is_crate || has_entry(&file.text, "lints", "workspace", "true") {
        return Vec::new();
    }
    vec![format!("{}: does not inherit the workspace's lints", file.path)]
}

/// Lines that speak of the oldest compiler and name another version than `version`.
pub(crate) fn other_compilers(file: &File, version: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let lower = line.to_lowercase();
        for word in ["msrv", "rust-version", "rust version", "rust 1.", "rustc 1.", "rust-1.", "rustc-1."] {
            let Some(start) = lower.find(word) else { continue };
            let named = first_version(&lower[start..]);
            if named.as_deref().is_some_and(|named| named != version) {
                problems.push(file.at(index, &format!("names another compiler than {version}")));
                break;
            }
        }
    }
    problems
}

/// Whether a TOML text has `key = value` in the table `[table]`.
pub(crate) fn has_entry(toml: &str, table: &str, key: &str, value: &str) -> bool {
    let mut current = "";
    toml.lines().map(str::trim).any(|line| {
        if let Some(name) = line.strip_prefix('[') {
            current = name.trim_end_matches(']');
        }
        let entry = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        current == table && entry == Some((key, value))
    })
}

/// The first `1.N` of a text.
fn first_version(text: &str) -> Option<String> {
    let start = text.find("1.")?;
    let digits: String = text[start + 2..].chars().take_while(char::is_ascii_digit).collect();
    if digits.is_empty() { None } else { Some(format!("1.{digits}")) }
}

fn lines_with_any(file: &File, words: &[&str], part: impl Fn(&str) -> &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let found = words.iter().find(|word| has_word(part(line), word));
        problems.extend(found.map(|word| file.at(index, &format!("has `{word}`"))));
    }
    problems
}

/// Whether `word` is in `text` and is not the middle of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        let begins = !word.starts_with(is_letter) || !before.is_some_and(is_letter);
        let ends = !word.ends_with(is_letter) || !after.is_some_and(is_letter);
        begins && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "a/src/b.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn each_rule_finds_what_it_forbids() {
        let bad = |rule: fn(&File) -> Vec<String>, text: &str| {
            assert_eq!(rule(&file(text)).len(), 1, "{text}");
        };
        bad(too_long, &"\n".repeat(500));
        bad(no_module_docs, "// A comment.\n");
        bad(no_module_docs, "//!\n");
        bad(no_module_docs, "");
        for word in LEFTOVERS {
            bad(leftovers, &format!("a\n    {word} b\n"));
        }
        bad(trailing_spaces, "a\nb \n");
        bad(trailing_spaces, "a\tb\t");
        for path in MACHINE_PATHS {
            bad(machine_paths, &format!("cd {path}here"));
        }
        bad(impurities, "use std::time::Instant;");
        bad(impurities, "let x = std::thread::current(); // why");
        bad(lints_not_inherited, "[package]\nname = \"x\"\n[lints]\n[other]\nworkspace = true\n");
    }

    #[test]
    fn each_rule_lets_the_rest_pass() {
        let good =
            |rule: fn(&File) -> Vec<String>, text: &str| assert_eq!(rule(&file(text)), [""; 0], "{text}");
        good(too_long, &"\n".repeat(499));
        good(no_module_docs, "//! A module.\n");
        good(leftovers, "my_dbg_macro! UNFIXMEABLE ignored");
        good(trailing_spaces, "a\n\n b\n");
        good(machine_paths, "https://host/network/roots/");
        good(impurities, "// An Instant is not asked for.\nlet instantly = operand;");
        good(lints_not_inherited, "[package]\n\n[lints]\nworkspace = true\n");
        good(lints_not_inherited, "[workspace]\n");
    }

    #[test]
    fn other_compilers_are_found_where_they_are_spoken_of() {
        let found = |text: &str| other_compilers(&file(text), "1.89").len();
        for text in ["MSRV: 1.88", "Rust 1.90 or later", "a badge/rustc-1.80+-blue", "Needs Rust 1.8."] {
            assert_eq!(found(text), 1, "{text}");
        }
        for text in ["MSRV: 1.89", "Rust 1.89", "kube-apiserver 1.37", "HTTP/1.1", "The MSRV moves rarely."] {
            assert_eq!(found(text), 0, "{text}");
        }
    }
}
