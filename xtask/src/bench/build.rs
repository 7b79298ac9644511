//! The programs that are measured, and those that they are measured with: built for release, each by its own tools.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Side;
use crate::run::{self, Result, cargo, heading, root};

/// Paths of what was built.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
    client_go: Option<PathBuf>,
    /// The formats that our client knows.
    formats: Vec<String>,
}

impl Programs {
    /// Builds our programs, and those of kube-runtime and of client-go that are wanted.
    pub(crate) fn build(with_kube_runtime: bool, with_go: bool, with_mimalloc: bool) -> Result<Self> {
        heading("bench: building");
        let folder = target_folder()?.join("release");
        let mut ours = cargo(&["build", "--release", "--package", "informer-bench"]);
        if with_mimalloc {
            ours.args(["--features", "mimalloc"]);
        }
        run::run(&mut ours)?;
        if with_kube_runtime {
            let manifest = root().join("bench/peers/kube-runtime/Cargo.toml");
            // Into the same folder: of the dependencies, only what differs is compiled again.
            let mut peer = cargo(&["build", "--release", "--locked", "--manifest-path"]);
            run::run(peer.arg(manifest).arg("--target-dir").arg(target_folder()?))?;
        }
        let client_go = if with_go { Some(build_go(&folder)?) } else { None };
        let mut programs = Self { folder, client_go, formats: Vec::new() };
        let listed = programs.command("bench-client").arg("--formats").output();
        let listed = listed.map_err(|error| format!("bench-client: {error}"))?;
        let listed = String::from_utf8_lossy(&listed.stdout);
        programs.formats = listed.split_whitespace().map(str::to_owned).collect();
        Ok(programs)
    }

    /// One of our own programs.
    pub(crate) fn command(&self, name: &str) -> Command {
        Command::new(self.folder.join(name))
    }

    /// A side's client, if it was built.
    pub(crate) fn client(&self, side: Side) -> Option<Command> {
        match side {
            Side::Ours => Some(self.command("bench-client")),
            Side::KubeRuntime => Some(self.command("bench-kube-runtime")),
            Side::ClientGo => self.client_go.as_ref().map(Command::new),
        }
    }

    pub(crate) fn knows_format(&self, format: &str) -> bool {
        self.formats.iter().any(|known| known == format)
    }
}

/// Where this very program was built.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let this = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let target = this.parent().and_then(Path::parent);
    Ok(target.ok_or("this program lies in no target folder")?.to_owned())
}

fn build_go(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("bench-client-go");
    if Command::new("go").arg("version").stdout(Stdio::null()).status().is_err() {
        return Err("Go is not installed: it is needed for client-go's side".to_owned());
    }
    let mut command = Command::new("go");
    command.args(["build", "-trimpath", "-o"]).arg(&path).arg(".");
    run::run(command.current_dir(root().join("bench/peers/client-go")).env("CGO_ENABLED", "0"))?;
    Ok(path)
}
