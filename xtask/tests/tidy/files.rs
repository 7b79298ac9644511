//! The text files of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Files of these kinds are looked at.
const EXTENSIONS: &[&str] = &["go", "md", "mod", "rs", "sh", "toml", "yaml", "yml"];

/// Folders that hold what programs made.
const MADE: &[&str] = &[".git", "node_modules", "target"];

/// A text file and where it lies, relative to the root, with `/`.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.has_extension(&["rs"])
    }

    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|extension| extensions.iter().any(|one| extension == *one))
    }

    /// Whether one of its folders has this name.
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.rsplit('/').skip(1).any(|name| name == folder)
    }

    /// The problem as a line that an editor can jump to; `index` counts from 0.
    pub(crate) fn at(&self, index: usize, problem: &str) -> String {
        format!("{}:{}: {problem}", self.path, index + 1)
    }
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the xtask folder lies in the repository")
}

/// Every text file of the repository, by path.
pub(crate) fn repository() -> &'static [File] {
    static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
        let mut paths = Vec::new();
        walk(root(), &mut paths);
        paths.sort();
        let files: Vec<File> = paths.iter().map(|path| read(path)).collect();
        assert!(files.len() > 20, "the repository has more than {} files", files.len());
        files
    });
    &FILES
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let entry = entry.expect("a folder can be read");
        let (path, kind) = (entry.path(), entry.file_type().expect("a file has a type"));
        let is_made = MADE.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !is_made {
            walk(&path, paths);
        } else if kind.is_file() && is_text(&path) {
            paths.push(path);
        }
    }
}

fn is_text(path: &Path) -> bool {
    path.ends_with(".ci/run")
        || path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|one| extension == *one))
}

fn read(path: &Path) -> File {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let path =
        path.strip_prefix(root()).expect("the walk began at the root").to_string_lossy().replace('\\', "/");
    let text = String::from_utf8(bytes).unwrap_or_else(|_| panic!("{path}: not UTF-8"));
    File { path, text }
}
