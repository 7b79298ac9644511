//! What the library costs before it does anything: the size of a program, and the time to build it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::metrics::Unit;
use super::{Bench, Side, build};
use crate::run::{self, Result, cargo, heading, root};

/// The smallest programs that watch Pods: ours is an example of the benchmark's crate.
pub(crate) fn program(bench: &mut Bench) -> Result {
    heading("bench: size of the smallest program");
    let folder = build::target_folder()?.join("release");
    run::run(&mut cargo(&["build", "--release", "--package", "informer-bench", "--example", "smallest"]))?;
    let manifest = root().join("bench/peers/kube-runtime/Cargo.toml");
    let mut peer =
        cargo(&["build", "--release", "--locked", "--example", "smallest-peer", "--manifest-path"]);
    run::run(peer.arg(manifest).arg("--target-dir").arg(build::target_folder()?))?;
    for (side, name) in [(Side::Ours, "smallest"), (Side::KubeRuntime, "smallest-peer")] {
        let path = folder.join("examples").join(name);
        let stripped = folder.join(format!("{name}-stripped"));
        run::run(Command::new("strip").arg("-o").arg(&stripped).arg(&path))?;
        let bytes = fs::metadata(&stripped).map_err(|error| error.to_string())?.len();
        add(
            bench,
            side,
            "size.program",
            "the smallest program, stripped",
            Unit::Megabytes,
            bytes as f64 / 1e6,
        );
    }
    Ok(())
}

/// One cold build of each in an empty folder, one after the other.
pub(crate) fn build(bench: &mut Bench) -> Result {
    heading("bench: cold build");
    let folder = build::target_folder()?.join("bench-cold");
    let peer = root().join("bench/peers/kube-runtime/Cargo.toml");
    let ours = root().join("bench/Cargo.toml");
    for (side, manifest, example) in
        [(Side::Ours, ours, "smallest"), (Side::KubeRuntime, peer, "smallest-peer")]
    {
        bench.check_stop()?;
        remove(&folder)?;
        let started = Instant::now();
        let mut command = cargo(&["build", "--release", "--example", example, "--manifest-path"]);
        run::run(command.arg(manifest).arg("--target-dir").arg(&folder))?;
        let seconds = started.elapsed().as_secs_f64();
        add(bench, side, "build.cold", "cold release build of the smallest program", Unit::Seconds, seconds);
    }
    remove(&folder)
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
