//! What the library costs before it does anything: the size of a program, and the time to build it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::metrics::Unit;
use super::{Bench, Side, build};
use crate::run::{self, Result, cargo, heading, root};

/// The smallest programs that watch Pods: packages of their own, so that they have the libraries' default features.
const PROGRAMS: [(Side, &str, &str); 2] = [
    (Side::Ours, "Cargo.toml", "smallest-informer"),
    (Side::KubeRuntime, "bench/peers/kube-runtime/Cargo.toml", "smallest-kube-runtime"),
];

/// The libraries, with the same Kubernetes version.
const LIBRARIES: [(Side, &str, &[&str]); 2] = [
    (Side::Ours, "Cargo.toml", &["--package", "informer", "--features", "k8s-openapi/latest"]),
    (Side::KubeRuntime, "bench/peers/kube-runtime/Cargo.toml", &["--package", "kube"]),
];

/// Parts of the release profile, by the end of their variables' names.
type Profile<'a> = &'a [(&'a str, &'a str)];

/// As whoever ships a program asks for it.
const WHOLE: Profile = &[("LTO", "fat"), ("CODEGEN_UNITS", "1")];

/// As it is without a word in a manifest. Ours asks for lines in backtraces.
const PLAIN: Profile = &[("DEBUG", "0")];

/// Of each side, in both profiles.
pub(crate) fn program(bench: &mut Bench) -> Result {
    heading("bench: size of the smallest program");
    let folder = build::target_folder()?;
    for (side, manifest, package) in PROGRAMS {
        for (id, about, profile) in [
            ("size.program", "the smallest program, stripped", PLAIN),
            ("size.program-lto", "the same, with lto = \"fat\" and codegen-units = 1", WHOLE),
        ] {
            bench.check_stop()?;
            build(manifest, &["--package", package], &folder, profile)?;
            let size = stripped_megabytes(&folder, package)?;
            add(bench, side, id, about, Unit::Megabytes, size);
        }
    }
    Ok(())
}

/// One build of each in an empty folder, one after the other.
pub(crate) fn cold_build(bench: &mut Bench) -> Result {
    heading("bench: cold build");
    for (side, manifest, library) in LIBRARIES {
        bench.check_stop()?;
        let folder = build::target_folder()?.join("bench-cold");
        remove(&folder)?;
        let started = Instant::now();
        build(manifest, library, &folder, PLAIN)?;
        let seconds = started.elapsed().as_secs_f64();
        let (id, about) = ("build.library", "cold release build of the library");
        add(bench, side, id, about, Unit::Seconds, seconds);
        remove(&folder)?;
    }
    Ok(())
}

fn build(manifest: &str, what: &[&str], folder: &Path, profile: Profile) -> Result {
    let mut command = cargo(&["build", "--release", "--locked", "--manifest-path"]);
    command.arg(root().join(manifest)).arg("--target-dir").arg(folder).args(what);
    for (name, value) in profile {
        command.env(format!("CARGO_PROFILE_RELEASE_{name}"), value);
    }
    run::run(&mut command)
}

fn stripped_megabytes(folder: &Path, package: &str) -> Result<f64> {
    let path = folder.join("release").join(package);
    let stripped = path.with_extension("stripped");
    run::run(Command::new("strip").arg("-o").arg(&stripped).arg(&path))?;
    let bytes = fs::metadata(&stripped).map_err(|error| error.to_string())?.len();
    Ok(bytes as f64 / 1e6)
}

fn add(bench: &mut Bench, side: Side, id: &str, about: &str, unit: Unit, value: f64) {
    println!("{:12} {}", side.name(), unit.text(value));
    bench.samples.add(side, id, about, unit, value);
}

fn remove(folder: &Path) -> Result {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}
