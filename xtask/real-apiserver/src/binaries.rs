//! The servers' binaries: found in a cache by version, or built into it with Go.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use crate::Error;

/// The Kubernetes release of `apiserver/go.mod`.
pub const KUBERNETES_VERSION: &str = "1.37.2";

/// The etcd release of `etcd/go.mod`.
pub const ETCD_VERSION: &str = "3.7.3";

/// The probe has no version of its own: its source's hash names it, so that a changed one is built anew.
const PROBE_SOURCE: &str = include_str!("../probe/main.go");

/// Paths of the programs that make up a real API server.
#[derive(Debug, Clone)]
pub struct Binaries {
    pub(crate) apiserver: PathBuf,
    pub(crate) etcd: PathBuf,
    pub(crate) probe: PathBuf,
}

/// One Go main package of this folder, and what to call its binary.
struct Recipe {
    folder: &'static str,
    /// What people are told.
    title: String,
    /// On 2 cores, nothing cached.
    duration: &'static str,
    ldflags: String,
    path: PathBuf,
}

impl Binaries {
    /// Looks the binaries up in the cache.
    ///
    /// The cache is the folder `$INFORMER_CACHE_DIR`, else `$XDG_CACHE_HOME/informer/bin`, else
    /// `~/.cache/informer/bin`.
    ///
    /// # Errors
    ///
    /// [`Error::NotBuilt`] names the first file that is not there.
    pub fn find() -> Result<Self, Error> {
        Self::find_in(&cache_folder()?)
    }

    /// Looks the binaries up in the cache, and builds with Go what is not there.
    ///
    /// Built from nothing on 2 cores this takes about 9 minutes; `progress` is told before each part. Several
    /// processes may ask at once: one builds, the others wait. A build that is interrupted leaves nothing that
    /// could be taken for a whole one.
    ///
    /// # Errors
    ///
    /// [`Error::GoMissing`], [`Error::BuildFailed`] (`go build` has then printed why to standard error), or
    /// [`Error::Io`] for a cache folder that cannot be written.
    pub fn find_or_build(progress: impl FnMut(&str)) -> Result<Self, Error> {
        let cache = cache_folder()?;
        match Self::find_in(&cache) {
            Err(Error::NotBuilt { .. }) => Self::build_in(&cache, "go".as_ref(), progress),
            found => found,
        }
    }

    fn find_in(cache: &Path) -> Result<Self, Error> {
        let recipes = recipes(cache);
        match recipes.iter().find(|recipe| !recipe.path.is_file()) {
            Some(recipe) => Err(Error::NotBuilt { missing: recipe.path.clone() }),
            None => {
                let [probe, etcd, apiserver] = recipes.map(|recipe| recipe.path);
                Ok(Self { apiserver, etcd, probe })
            }
        }
    }

    fn build_in(cache: &Path, go: &Path, mut progress: impl FnMut(&str)) -> Result<Self, Error> {
        if Command::new(go).arg("version").output().is_err() {
            return Err(Error::GoMissing);
        }
        let doing = || format!("preparing the folder {}", cache.display());
        fs::create_dir_all(cache).map_err(Error::io(doing))?;
        let lock = File::create(cache.join(".lock")).map_err(Error::io(doing))?;
        if lock.try_lock().is_err() {
            progress("waiting for another process that builds kube-apiserver and etcd");
            lock.lock().map_err(Error::io(doing))?;
        }
        for recipe in recipes(cache) {
            if !recipe.path.is_file() {
                progress(&format!("building {} ({}, once)", recipe.title, recipe.duration));
                recipe.build(go)?;
            }
        }
        Self::find_in(cache)
    }
}

impl Recipe {
    /// Builds to a name of this process's own and renames: the final name is a whole binary or absent.
    fn build(&self, go: &Path) -> Result<(), Error> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.folder);
        let mut partial = self.path.clone().into_os_string();
        partial.push(format!(".partial-{}", process::id()));
        let doing = || format!("building {}", self.title);
        // Low priority: this usually runs beside other builds, which people wait for.
        let mut command = Command::new("nice");
        command.arg("-n").arg("15").arg(go).args(["build", "-trimpath", "-ldflags", &self.ldflags, "-o"]);
        command.arg(&partial).arg(".").current_dir(source).env("CGO_ENABLED", "0");
        let status = command.status().map_err(Error::io(doing))?;
        let built = if status.success() {
            fs::rename(&partial, &self.path).map_err(Error::io(doing))
        } else {
            Err(Error::BuildFailed { name: self.title.clone() })
        };
        if built.is_err() {
            let _ = fs::remove_file(&partial);
        }
        built
    }
}

/// The parts in the order in which they are built: the quick ones first.
fn recipes(cache: &Path) -> [Recipe; 3] {
    let strip = "-s -w".to_owned();
    // Without a version kubectl cannot parse the server's answer about it.
    let package = "k8s.io/component-base/version";
    let [major, minor, _] = KUBERNETES_VERSION.split('.').collect::<Vec<_>>()[..] else {
        panic!("a Kubernetes version has three parts");
    };
    let set = |name: &str, value: &str| format!(" -X {package}.{name}={value}");
    let git_version = set("gitVersion", &format!("v{KUBERNETES_VERSION}"));
    let version = format!("{strip}{git_version}{}{}", set("gitMajor", major), set("gitMinor", minor));
    [
        Recipe {
            folder: "probe",
            title: "the probe for kube-apiserver".to_owned(),
            duration: "less than a minute",
            ldflags: strip.clone(),
            path: cache.join(format!("informer-probe-{:016x}", fnv1a(PROBE_SOURCE.as_bytes()))),
        },
        Recipe {
            folder: "etcd",
            title: format!("etcd {ETCD_VERSION}"),
            duration: "about a minute",
            ldflags: strip,
            path: cache.join(format!("etcd-{ETCD_VERSION}")),
        },
        Recipe {
            folder: "apiserver",
            title: format!("kube-apiserver {KUBERNETES_VERSION}"),
            duration: "about 8 minutes",
            ldflags: version,
            path: cache.join(format!("kube-apiserver-{KUBERNETES_VERSION}")),
        },
    ]
}

fn cache_folder() -> Result<PathBuf, Error> {
    let set = |name: &str| env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    set("INFORMER_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("informer/bin")))
        .or_else(|| env::home_dir().map(|folder| folder.join(".cache/informer/bin")))
        // Go runs in other folders than we do.
        .and_then(|folder| std::path::absolute(folder).ok())
        .ok_or_else(|| Error::Io {
            doing: "looking for a cache folder".to_owned(),
            source: io::Error::new(io::ErrorKind::NotFound, "set INFORMER_CACHE_DIR"),
        })
}

/// FNV-1a, 64 bits: a file name must not change with the compiler, as the standard library's hasher may.
fn fnv1a(bytes: &[u8]) -> u64 {
    struct Fnv(u64);
    impl Hasher for Fnv {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of this test's own with a `go` in it that does what the script says.
    fn cache_with_go(script: &str) -> (PathBuf, PathBuf) {
        let cache = env::temp_dir().join(format!("informer-binaries-{:x}", crate::ports::random()));
        fs::create_dir(&cache).unwrap();
        let go = cache.join("go");
        // A file that this process has written itself may be "busy" a moment longer: another test's thread that
        // starts a process at the same time passes the open file on to it.
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$2" && chmod +x "$2""#;
        let status = Command::new("sh").args(["-c", write, "sh", script]).arg(&go).status().unwrap();
        assert!(status.success());
        (cache, go)
    }

    /// Writes the file that follows `-o`.
    const GOOD_GO: &str = r#"while [ $# -gt 0 ]; do [ "$1" = -o ] && echo binary >"$2"; shift; done"#;

    fn partial_files(cache: &Path) -> usize {
        let names = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains("partial")).count()
    }

    #[test]
    fn missing_parts_are_built_once() {
        let (cache, go) = cache_with_go(GOOD_GO);
        fs::write(cache.join(format!("etcd-{ETCD_VERSION}")), "from before").unwrap();
        let mut said = Vec::new();
        let built = Binaries::build_in(&cache, &go, |line| said.push(line.to_owned())).unwrap();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[1].starts_with(&format!("building kube-apiserver {KUBERNETES_VERSION} (")), "{said:?}");
        assert_eq!(fs::read_to_string(&built.etcd).unwrap(), "from before");
        assert_eq!(fs::read_to_string(&built.apiserver).unwrap(), "binary\n");
        Binaries::build_in(&cache, &go, |line| panic!("{line}")).unwrap();
        assert_eq!(partial_files(&cache), 0);
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn a_failed_build_is_not_taken_for_a_binary() {
        let (cache, go) = cache_with_go(&format!("{GOOD_GO}\n[ -e fail ] || exit 1"));
        // `go version` must answer, so it is the build's own exit code that counts.
        let error = Binaries::build_in(&cache, &go, |_| {}).unwrap_err();
        assert!(matches!(error, Error::BuildFailed { .. }), "{error}");
        assert!(matches!(Binaries::find_in(&cache), Err(Error::NotBuilt { .. })));
        assert_eq!(partial_files(&cache), 0);
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn without_go_the_error_says_so() {
        let (cache, go) = cache_with_go("");
        fs::remove_file(&go).unwrap();
        let error = Binaries::build_in(&cache, &go, |line| panic!("{line}")).unwrap_err();
        assert!(matches!(error, Error::GoMissing), "{error}");
        assert!(!error.to_string().contains('\n'), "one line: {error}");
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn versions_are_those_of_the_go_modules() {
        let apiserver = include_str!("../apiserver/go.mod");
        assert!(apiserver.contains(&format!("k8s.io/kubernetes v{KUBERNETES_VERSION}\n")));
        let etcd = include_str!("../etcd/go.mod");
        assert!(etcd.contains(&format!("go.etcd.io/etcd/server/v3 v{ETCD_VERSION}\n")));
    }

    #[test]
    fn hash_is_fnv1a() {
        // From the algorithm's published test vectors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
