//! A small pure model of an API server: objects, their history, and what a LIST or a WATCH shows of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_core::{ObjectKey, Rng};

use crate::dice::Dice;
use crate::mutant::Mutant;

/// One version of an object, as the server has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stored {
    pub(crate) uid: u64,
    pub(crate) version: u64,
    pub(crate) content: u64,
    /// Whether its labels match the selector.
    pub(crate) selected: bool,
    /// Whether the informer's decoder can make sense of this version.
    pub(crate) decodable: bool,
}

/// One entry of the history.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: ObjectKey,
    pub(crate) before: Option<Stored>,
    pub(crate) after: Option<Stored>,
}

/// The three kinds of change, as one watcher sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventKind {
    Added,
    Modified,
    Deleted,
}

/// One event, as one watcher sees it.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    pub(crate) key: ObjectKey,
    /// Of a deleted object: its last content, at the version at which it is absent.
    pub(crate) object: Stored,
}

/// Why a request is turned down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    Expired,
    TooLarge,
    NotFound,
}

/// One page of a LIST.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) version: u64,
    pub(crate) items: Vec<(ObjectKey, Stored)>,
    pub(crate) token: Option<String>,
    pub(crate) remaining: Option<u64>,
}

/// One API server's watch cache: where it is, and where its window begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replica {
    pub(crate) version: u64,
    pub(crate) oldest: u64,
    /// Whether it hears nothing from etcd.
    pub(crate) frozen: bool,
}

/// What a request can see: a namespace, or all of them.
pub(crate) type Namespace = Option<Arc<str>>;

/// The server: one counter of versions, one collection in several namespaces, two watch caches over it.
pub(crate) struct ModelServer {
    pub(crate) version: u64,
    pub(crate) objects: BTreeMap<ObjectKey, Stored>,
    /// The whole history, also what was compacted: the checkers need it.
    pub(crate) log: Vec<Change>,
    /// What was forgotten when the server was restored from a backup. Its versions are never used again: a client that is
    /// at one of them must not be taken for one that is up to date.
    pub(crate) lost: Vec<Change>,
    /// Versions below are lost.
    pub(crate) compacted: u64,
    pub(crate) replicas: [Replica; 2],
    /// Whether the resource exists (a CRD can go).
    pub(crate) exists: bool,
    /// Whether the informer asks for a selector.
    pub(crate) selector: bool,
    /// Whether lists are answered from the watch cache.
    pub(crate) cached_lists: bool,
    /// Whether each page of a list is as new as it can be, instead of as old as the first.
    pub(crate) sloppy_pages: bool,
    /// Whether a lagging watch cache answers with what it has, though a newer version was asked for.
    pub(crate) ignores_minimum: bool,
    pub(crate) mutant: Option<Mutant>,
    keys: Vec<ObjectKey>,
    next_uid: u64,
    next_content: u64,
}

impl ModelServer {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let per_namespace = rng.range(1, 8);
        let keys = ["a", "b", "c"].iter().flat_map(|namespace| {
            (0..per_namespace).map(move |number| ObjectKey::new(namespace, &format!("o{number}")))
        });
        let version = rng.range(1, 1000);
        Self {
            version,
            objects: BTreeMap::new(),
            log: Vec::new(),
            lost: Vec::new(),
            compacted: version,
            replicas: [Replica { version, oldest: version, frozen: false }; 2],
            exists: true,
            selector: rng.chance(50),
            cached_lists: rng.chance(80),
            sloppy_pages: rng.chance(15),
            ignores_minimum: version.is_multiple_of(8),
            mutant: None,
            keys: keys.collect(),
            next_uid: 0,
            next_content: 0,
        }
    }

    /// Whether a watcher of this namespace sees the object.
    pub(crate) fn sees(&self, namespace: Option<&str>, key: &ObjectKey, object: Option<&Stored>) -> bool {
        object.is_some_and(|object| object.selected || !self.selector)
            && namespace.is_none_or(|namespace| namespace == key.namespace())
    }

    /// One to three writes to one random object.
    pub(crate) fn write(&mut self, rng: &mut Rng, undecodable_percent: u64) {
        let key = self.keys[rng.below(self.keys.len() as u64) as usize].clone();
        let decodable = !rng.chance(undecodable_percent);
        let Some(old) = self.objects.get(&key).copied() else {
            let new = self.incarnation(rng, decodable);
            return self.put(rng, key, Some(new));
        };
        match rng.below(20) {
            0..=3 => self.put(rng, key, None),
            4 | 5 => {
                self.put(rng, key.clone(), None);
                let new = self.incarnation(rng, decodable);
                self.put(rng, key, Some(new));
            }
            6..=8 => {
                let new = Stored { selected: !old.selected, decodable, content: self.content(), ..old };
                self.put(rng, key, Some(new));
            }
            _ => {
                let new = Stored { decodable, content: self.content(), ..old };
                self.put(rng, key, Some(new));
            }
        }
    }

    /// Writes every object that the decoder cannot read, so that it can.
    pub(crate) fn repair(&mut self, rng: &mut Rng) {
        let broken: Vec<_> = self.objects.iter().filter(|(_, object)| !object.decodable).collect();
        let broken: Vec<_> = broken.into_iter().map(|(key, object)| (key.clone(), *object)).collect();
        for (key, object) in broken {
            self.put(rng, key, Some(Stored { decodable: true, ..object }));
        }
    }

    /// The CRD goes: first its objects, then the resource.
    pub(crate) fn remove_resource(&mut self, rng: &mut Rng) {
        for key in self.objects.keys().cloned().collect::<Vec<_>>() {
            self.put(rng, key, None);
        }
        self.exists = false;
    }

    pub(crate) fn compact(&mut self) {
        self.compacted = self.version;
        for replica in &mut self.replicas {
            replica.oldest = replica.oldest.max(replica.version);
        }
    }

    /// Every API server starts again with an empty watch cache.
    pub(crate) fn restart(&mut self) {
        self.replicas = [Replica { version: self.version, oldest: self.version, frozen: false }; 2];
    }

    /// The server goes back to a backup: the last changes never happened.
    pub(crate) fn restore(&mut self, rng: &mut Rng) {
        let Some(version) = self.log.iter().rev().nth(rng.range(1, 15) as usize).map(|change| change.version)
        else {
            return;
        };
        self.lost.extend(self.log.split_off(self.log.partition_point(|change| change.version <= version)));
        self.objects = self.state_at(version);
        self.version = version;
        self.compacted = version;
        self.restart();
    }

    pub(crate) fn catch_up(&mut self, replica: usize) {
        let version = self.version;
        let replica = &mut self.replicas[replica];
        if !replica.frozen {
            replica.version = version;
        }
    }

    fn incarnation(&mut self, rng: &mut Rng, decodable: bool) -> Stored {
        self.next_uid += 1;
        let selected = rng.chance(70);
        Stored { uid: self.next_uid, version: 0, content: self.content(), selected, decodable }
    }

    fn content(&mut self) -> u64 {
        self.next_content += 1;
        self.next_content
    }

    fn put(&mut self, rng: &mut Rng, key: ObjectKey, new: Option<Stored>) {
        // Other resources share the counter.
        self.version += rng.range(1, 3);
        while self.is_lost(self.version) {
            self.version += 1;
        }
        let version = self.version;
        let after = new.map(|new| Stored { version, ..new });
        let before = match after {
            Some(after) => self.objects.insert(key.clone(), after),
            None => self.objects.remove(&key),
        };
        self.log.push(Change { version, key, before, after });
        for replica in 0..self.replicas.len() {
            if rng.chance(80) {
                self.catch_up(replica);
            }
        }
    }

    fn is_lost(&self, version: u64) -> bool {
        self.lost.iter().any(|change| change.version == version)
    }

    /// Everything at one version, not compacted away yet or not: the history is whole.
    pub(crate) fn state_at(&self, version: u64) -> BTreeMap<ObjectKey, Stored> {
        let mut state = BTreeMap::new();
        for change in self.log.iter().take_while(|change| change.version <= version) {
            match change.after {
                Some(after) => state.insert(change.key.clone(), after),
                None => state.remove(&change.key),
            };
        }
        state
    }

    fn visible_at(&self, namespace: Option<&str>, version: u64) -> Vec<(ObjectKey, Stored)> {
        let state = self.state_at(version).into_iter();
        state.filter(|(key, object)| self.sees(namespace, key, Some(object))).collect()
    }

    /// A LIST, by the rules for `resourceVersion`, `limit` and `continue`.
    pub(crate) fn list(
        &self,
        replica: usize,
        namespace: Option<&str>,
        version: Option<u64>,
        limit: Option<u32>,
        token: Option<&str>,
    ) -> Result<Page, Refusal> {
        if !self.exists {
            return Err(Refusal::NotFound);
        }
        if let Some(token) = token {
            let (version, last) = token.split_once(' ').expect("a token of ours");
            let (version, last) = (version.parse().expect("a version"), last.parse().expect("a key"));
            return if version < self.compacted || version > self.version {
                Err(Refusal::Expired)
            } else {
                let version = if self.sloppy_pages { self.version } else { version };
                Ok(self.page(namespace, version, Some(&last), limit))
            };
        }
        let cached = self.replicas[replica].version;
        match version {
            None => Ok(self.page(namespace, self.version, None, limit)),
            Some(0) if self.cached_lists => Ok(self.page(namespace, cached, None, None)),
            Some(0) => Ok(self.page(namespace, self.version, None, limit)),
            // With a limit, at a version: exactly at that version.
            Some(exact) if limit.is_some() => {
                if exact > self.version {
                    Err(Refusal::TooLarge)
                } else if exact < self.compacted || self.is_lost(exact) {
                    Err(Refusal::Expired)
                } else {
                    Ok(self.page(namespace, exact, None, limit))
                }
            }
            Some(oldest) => {
                let at = if self.cached_lists { cached } else { self.version };
                if oldest > at && !self.ignores_minimum {
                    Err(Refusal::TooLarge)
                } else {
                    Ok(self.page(namespace, at, None, None))
                }
            }
        }
    }

    fn page(
        &self,
        namespace: Option<&str>,
        version: u64,
        after: Option<&ObjectKey>,
        limit: Option<u32>,
    ) -> Page {
        let mut items = self.visible_at(namespace, version);
        items.retain(|(key, _)| after.is_none_or(|after| key > after));
        let size = limit.map_or(usize::MAX, |limit| limit as usize).min(items.len());
        let rest = items.len() - size;
        items.truncate(size);
        let token = items.last().filter(|_| rest > 0).map(|(last, _)| format!("{version} {last}"));
        let version = match self.mutant {
            // Says that it is older than it is.
            Some(Mutant::OldListVersion) => version.saturating_sub(7).max(1),
            _ => version,
        };
        Page { version, items, token, remaining: (rest > 0).then_some(rest as u64) }
    }

    /// The beginning of a WATCH: initial events, if asked for, and the version from which changes follow.
    pub(crate) fn watch(
        &self,
        replica: usize,
        namespace: Option<&str>,
        version: Option<u64>,
        initial: bool,
    ) -> Result<(Vec<(ObjectKey, Stored)>, u64), Refusal> {
        if !self.exists {
            return Err(Refusal::NotFound);
        }
        let Replica { version: cached, oldest, .. } = self.replicas[replica];
        if initial {
            let target = version.unwrap_or(self.version);
            if cached < target && !(self.ignores_minimum && version.is_some()) {
                return Err(Refusal::TooLarge);
            }
            return Ok((self.visible_at(namespace, cached), cached));
        }
        match version {
            None | Some(0) => Ok((self.visible_at(namespace, cached), cached)),
            Some(from) if from > self.version => Err(Refusal::TooLarge),
            Some(from) if from < oldest.max(self.compacted) || self.is_lost(from) => Err(Refusal::Expired),
            Some(from) => Ok((Vec::new(), from)),
        }
    }

    /// The changes after `from` that this replica knows, oldest first, and the version up to which these are all.
    pub(crate) fn events(
        &self,
        replica: usize,
        namespace: Option<&str>,
        from: u64,
        max: usize,
    ) -> (Vec<Event>, u64) {
        let upto = self.replicas[replica].version.max(from);
        let mut events = Vec::new();
        for change in &self.log[self.log.partition_point(|change| change.version <= from)..] {
            if change.version > upto {
                break;
            }
            if let Some(event) = self.event(namespace, change) {
                if events.len() == max {
                    let sent = events.last().map_or(from, |last: &Event| last.object.version);
                    return (events, sent);
                }
                events.push(event);
            }
        }
        (events, upto)
    }

    fn event(&self, namespace: Option<&str>, change: &Change) -> Option<Event> {
        let (before, after) = (change.before.as_ref(), change.after.as_ref());
        let deleted = |object: &Stored| (EventKind::Deleted, Stored { version: change.version, ..*object });
        let unselected =
            |object: &Stored| namespace.is_none_or(|own| own == change.key.namespace()) && !object.selected;
        let (kind, object) = match (before, after) {
            // Forgets to look at the labels.
            (Some(_), Some(after))
                if self.mutant == Some(Mutant::IgnoresSelector) && self.selector && unselected(after) =>
            {
                (EventKind::Modified, *after)
            }
            _ => {
                match (self.sees(namespace, &change.key, before), self.sees(namespace, &change.key, after)) {
                    (false, false) => return None,
                    (false, true) => (EventKind::Added, *after?),
                    (true, true) => (EventKind::Modified, *after?),
                    (true, false) => deleted(before?),
                }
            }
        };
        let lost = self.mutant == Some(Mutant::LostDelete) && kind == EventKind::Deleted;
        if lost && change.version.is_multiple_of(3) {
            return None;
        }
        Some(Event { kind, key: change.key.clone(), object })
    }

    /// The entry of the history at exactly this version, also if that has been forgotten since.
    pub(crate) fn change_at(&self, version: u64) -> Option<&Change> {
        let position = self.log.partition_point(|change| change.version < version);
        let change = self.log.get(position).filter(|change| change.version == version);
        change.or_else(|| self.lost.iter().find(|change| change.version == version))
    }
}
