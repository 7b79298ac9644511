//! Who may depend on whom, from what Cargo says about the workspace.

use std::process::Command;

use serde_json::Value;

use crate::files::root;

/// Our crates that are used by others, lowest first, with those of ours that each may depend on, and those that
/// only its tests may. A crate that is not listed (command line, benchmarks, end-to-end suite) may depend on all
/// of these, and none of these on it.
const LAYERS: &[Layer] = &[
    Layer { name: "informer-core", may: &[], tests_may: &[] },
    Layer { name: "informer-wire", may: &[], tests_may: &[] },
    Layer { name: "informer-testserver", may: &[], tests_may: &[] },
    Layer {
        name: "informer",
        may: &["informer-core", "informer-wire"],
        tests_may: &["informer-testserver", "informer-real-apiserver"],
    },
    Layer { name: "informer-kube-runtime", may: &["informer"], tests_may: &["informer-testserver"] },
    Layer { name: "informer-real-apiserver", may: &[], tests_may: &[] },
];

/// What the pure crates must not depend on, by the beginning of its name: runtimes, clients, clocks and random
/// numbers; and object formats, since to them an object is bytes or an opaque value.
const IMPURE: &[&str] = &[
    "tokio",
    "futures",
    "hyper",
    "http",
    "kube",
    "k8s-",
    "serde",
    "rand",
    "getrandom",
    "chrono",
    "jiff",
    "time",
];

/// Whole names and beginnings of names, per crate.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("informer-core", IMPURE),
    ("informer-wire", IMPURE),
    // It is checked by kube's client, so it may not be made of it.
    ("informer-testserver", &["kube"]),
];

struct Layer {
    name: &'static str,
    may: &'static [&'static str],
    tests_may: &'static [&'static str],
}

/// A crate of the workspace.
pub(crate) struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    is_for_tests: bool,
}

/// The crates of this workspace.
pub(crate) fn workspace() -> Vec<Package> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root());
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("metadata has packages");
    packages.iter().map(package).collect()
}

/// Every dependency that goes against the layers.
pub(crate) fn problems(packages: &[Package]) -> Vec<String> {
    let is_ours = |name: &str| packages.iter().any(|package| package.name == name);
    let mut problems = Vec::new();
    for layer in LAYERS {
        if !is_ours(layer.name) {
            problems.push(format!("{}: listed as a layer, but the workspace has no such crate", layer.name));
        }
    }
    for package in packages {
        let layer = LAYERS.iter().find(|layer| layer.name == package.name);
        for dependency in &package.dependencies {
            let on = &dependency.name;
            let may = |layer: &Layer| {
                let tests_may = dependency.is_for_tests && layer.tests_may.contains(&on.as_str());
                tests_may || layer.may.contains(&on.as_str())
            };
            if is_ours(on) && layer.is_some_and(|layer| !may(layer)) {
                problems.push(format!("{} may not depend on {on}", package.name));
            }
            if on == "xtask" {
                problems.push(format!("{} may not depend on xtask", package.name));
            }
            if !dependency.is_for_tests && is_forbidden(&package.name, on) {
                problems.push(format!("{} may not depend on {on}, except in tests", package.name));
            }
        }
    }
    problems
}

fn is_forbidden(package: &str, dependency: &str) -> bool {
    let lists = FORBIDDEN.iter().filter(|(name, _)| *name == package);
    lists.flat_map(|(_, list)| *list).any(|beginning| dependency.starts_with(beginning))
}

fn package(value: &Value) -> Package {
    let text = |value: &Value| value.as_str().expect("a name is text").to_owned();
    let dependency =
        |value: &Value| Dependency { name: text(&value["name"]), is_for_tests: value["kind"] == "dev" };
    let dependencies = value["dependencies"].as_array().expect("a package has dependencies");
    Package { name: text(&value["name"]), dependencies: dependencies.iter().map(dependency).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of a workspace that has all layers and this one dependency.
    fn problems_of(name: &str, on: &str, is_for_tests: bool) -> usize {
        let names = LAYERS.iter().map(|layer| layer.name).chain(["xtask", "other"]);
        let mut packages: Vec<Package> =
            names.map(|name| Package { name: name.to_owned(), dependencies: Vec::new() }).collect();
        let package = packages.iter_mut().find(|package| package.name == name).unwrap();
        package.dependencies.push(Dependency { name: on.to_owned(), is_for_tests });
        problems(&packages).len()
    }

    #[test]
    fn arrows_against_the_layers_are_found() {
        assert_eq!(problems_of("informer-core", "informer-wire", false), 1);
        assert_eq!(problems_of("informer-core", "informer-wire", true), 1);
        assert_eq!(problems_of("informer-testserver", "informer-core", true), 1);
        assert_eq!(problems_of("informer", "informer-testserver", false), 1);
        assert_eq!(problems_of("informer", "other", false), 1);
        assert_eq!(problems_of("other", "xtask", false), 1);
        assert_eq!(problems_of("informer-core", "tokio-util", false), 1);
        assert_eq!(problems_of("informer-wire", "serde_json", false), 1);
        assert_eq!(problems_of("informer-testserver", "kube-core", false), 1);
    }

    #[test]
    fn arrows_along_the_layers_are_not() {
        assert_eq!(problems_of("informer", "informer-core", false), 0);
        assert_eq!(problems_of("informer", "informer-testserver", true), 0);
        assert_eq!(problems_of("informer-wire", "serde_json", true), 0);
        assert_eq!(problems_of("informer-core", "hashbrown", false), 0);
        assert_eq!(problems_of("other", "informer", false), 0);
    }

    #[test]
    fn a_layer_that_is_gone_is_found() {
        assert_eq!(problems(&[]).len(), LAYERS.len());
    }
}
