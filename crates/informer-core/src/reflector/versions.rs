//! Which version the reflector is at, and whether what arrives may come after it.

use super::io::Trouble;
use super::machine::Reflector;
use super::state::State;
use crate::{ObjectKey, ResourceVersion};

/// What is known of versions.
#[derive(Debug)]
pub(super) struct Versions {
    /// The last one seen; `None` before the first list, and if the server sends none.
    pub(super) last: Option<ResourceVersion>,
    /// The server does not have `last` (any more, or not yet): the next list asks for none.
    pub(super) unavailable: bool,
    /// Versions cannot be compared.
    opaque: bool,
    missing_told: bool,
}

impl Versions {
    pub(super) fn new(opaque: bool) -> Self {
        Self { last: None, unavailable: false, opaque, missing_told: false }
    }

    /// Whether `got` is certainly older than `seen`.
    pub(super) fn is_older(&self, got: &ResourceVersion, seen: &ResourceVersion) -> bool {
        !self.opaque && got < seen
    }

    /// The last version, if it is certainly newer than `got`.
    fn newer_than(&self, got: &ResourceVersion) -> Option<&ResourceVersion> {
        self.last.as_ref().filter(|seen| self.is_older(got, seen))
    }
}

impl<V> Reflector<V> {
    /// Records the version of an event, once what it says is on its way to the store.
    pub(super) fn record(&mut self, version: &ResourceVersion) {
        if version.is_empty() {
            return;
        }
        self.notice_opaque(version);
        if self.versions.last.as_ref() != Some(version) {
            self.versions.last = Some(version.clone());
            self.strikes.progress();
            if let State::Watching { watch, .. } = &mut self.state {
                watch.moved = true;
            }
        }
    }

    /// Records the version of the whole collection, which may be older than the last one if the server was restored.
    pub(super) fn record_list(&mut self, version: Option<ResourceVersion>) {
        match &version {
            Some(version) => {
                self.notice_opaque(version);
                if let Some(seen) = self.versions.newer_than(version).cloned() {
                    self.tell(Trouble::OlderList { seen, got: version.clone() });
                }
            }
            None if self.versions.missing_told => {}
            None => {
                self.versions.missing_told = true;
                self.tell(Trouble::MissingVersion);
            }
        }
        if self.versions.last != version {
            self.strikes.lost = 0;
        }
        self.versions.last = version;
        self.versions.unavailable = false;
    }

    /// Whether a version in the stream goes back behind the last one; if so it was reported.
    pub(super) fn went_back(&mut self, key: Option<&ObjectKey>, got: &ResourceVersion) -> bool {
        let Some(seen) = self.versions.newer_than(got).cloned() else {
            return false;
        };
        let got = got.clone();
        self.tell(match key {
            Some(key) => Trouble::VersionWentBack { key: key.clone(), seen, got },
            None => Trouble::BookmarkWentBack { seen, got },
        });
        true
    }

    fn notice_opaque(&mut self, version: &ResourceVersion) {
        if !version.is_ordered() && !self.versions.opaque {
            self.versions.opaque = true;
            self.tell(Trouble::OpaqueVersions);
        }
    }
}
