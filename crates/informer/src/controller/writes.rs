//! What a key's reconcile has written, and its next one must see.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::{ObjectKey, Priority, ResourceVersion};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::driver::{Progress, Shared as InformerShared};

/// The writes of all keys, and which keys wait for them.
///
/// Of the writes of one key to one namespace of one informer only the last is kept, where versions can be compared: the
/// cache that shows it shows the others. So there are as many as a reconcile writes kinds of objects, not objects.
pub(super) struct Writes(Mutex<State>);

#[derive(Default)]
struct State {
    by_key: BTreeMap<ObjectKey, Vec<Write>>,
    /// The keys that wait, each with the priority at which it is to come up.
    waiting: BTreeMap<ObjectKey, Priority>,
    /// How many keys there may be before those are looked for that nothing is waited for any more.
    tidy_at: usize,
}

/// Fewer keys than this are not worth being looked through.
const TIDY_FROM: usize = 256;

/// Where versions are opaque nobody says that the cache has changed, so one looks: often enough for a person, rarely enough
/// for a processor.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// One write, and how to see whether the cache shows it.
#[derive(Clone)]
pub(super) struct Write {
    informer: Arc<dyn Cache>,
    object: ObjectKey,
    version: ResourceVersion,
    /// What the cache held when the write was noted.
    before: Option<ResourceVersion>,
    deadline: Instant,
}

/// What a write asks of an informer, whatever it caches.
pub(super) trait Cache: Send + Sync {
    fn name(&self) -> &str;
    fn progress(&self) -> watch::Receiver<Progress>;
    fn version_of(&self, object: &ObjectKey) -> Option<ResourceVersion>;
}

impl<V: Send + Sync + 'static> Cache for InformerShared<V> {
    fn name(&self) -> &str {
        &self.name
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    fn version_of(&self, object: &ObjectKey) -> Option<ResourceVersion> {
        self.store.read().by_key(object).map(|object| object.version.clone())
    }
}

impl Write {
    pub(super) fn new(
        informer: Arc<dyn Cache>,
        object: ObjectKey,
        version: ResourceVersion,
        patience: Duration,
    ) -> Self {
        let before = informer.version_of(&object);
        let deadline = deadline(patience);
        Self { informer, object, version, before, deadline }
    }

    /// Whether the cache shows this write or what came after it.
    fn is_shown(&self) -> bool {
        // The namespace's version says it of every object, deleted ones included.
        let progress = self.informer.progress();
        let reached =
            progress.borrow().version_in(self.object.namespace()).is_some_and(|at| *at >= self.version);
        reached || self.object_shows_it()
    }

    /// Needed where the namespace's version says nothing: versions are opaque.
    fn object_shows_it(&self) -> bool {
        match self.informer.version_of(&self.object) {
            Some(version) if version.is_ordered() && self.version.is_ordered() => version >= self.version,
            // If there is no order, any change is taken for the write or what came after it.
            now => now.as_ref() == Some(&self.version) || (!self.version.is_ordered() && now != self.before),
        }
    }

    async fn shown(&self) {
        let mut progress = self.informer.progress();
        loop {
            // Before the look at the cache: what comes after it is heard of.
            let is_opaque = progress.borrow_and_update().version_in(self.object.namespace()).is_none();
            if self.is_shown() {
                return;
            }
            let look_again = async {
                match is_opaque {
                    true => tokio::time::sleep(LOOK_AGAIN).await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = progress.changed() => if changed.is_err() { return },
                () = look_again => {}
            }
        }
    }

    /// Whether both are made visible by the same progress.
    fn is_beside(&self, other: &Self) -> bool {
        let (one, two) =
            (Arc::as_ptr(&self.informer).cast::<()>(), Arc::as_ptr(&other.informer).cast::<()>());
        let same_object = self.object == other.object;
        let ordered = self.version.is_ordered() && other.version.is_ordered();
        std::ptr::eq(one, two)
            && (same_object || (ordered && self.object.namespace() == other.object.namespace()))
    }
}

/// Waits until the cache shows all of them, each until its deadline.
pub(super) async fn all_shown(writes: &[Write]) {
    for write in writes {
        let _stale = tokio::time::timeout_at(write.deadline, write.shown()).await;
    }
}

fn deadline(patience: Duration) -> Instant {
    let now = Instant::now();
    // A year is for ever, and every clock can say it.
    now.checked_add(patience).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 60 * 60))
}

/// What a worker finds out about a key that it has taken.
pub(super) enum Turn {
    /// The cache shows what was written, or it was waited for long enough; so many writes are not shown.
    Go { stale: u64 },
    /// These writes have to be waited for; and somebody has to put the key back then.
    Wait(Vec<Write>),
    /// Somebody waits already, and will put the key back.
    Waiting,
}

impl Writes {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State { tidy_at: TIDY_FROM, ..State::default() }))
    }

    /// The key's next reconcile has to see this.
    pub(super) fn note(&self, key: &ObjectKey, write: Write) {
        let mut state = self.lock();
        if state.by_key.len() >= state.tidy_at {
            // Writes of keys that are never reconciled again must not stay for ever.
            state.by_key.retain(|_, writes| writes.iter().any(|write| write.deadline > Instant::now()));
            state.tidy_at = TIDY_FROM.max(state.by_key.len() * 2);
        }
        let writes = state.by_key.entry(key.clone()).or_default();
        match writes.iter_mut().find(|other| other.is_beside(&write)) {
            // A late answer must not take the place of a newer one.
            Some(other) if other.version > write.version => {}
            Some(other) => *other = write,
            None => writes.push(write),
        }
    }

    /// Whether the key, which somebody has taken at this priority, can be reconciled.
    pub(super) fn turn(&self, controller: &str, key: &ObjectKey, priority: Priority) -> Turn {
        let mut state = self.lock();
        let mut stale = Vec::new();
        let mut unseen = state.by_key.remove(key).unwrap_or_default();
        unseen.retain(|write| {
            let shown = write.is_shown();
            let late = write.deadline <= Instant::now();
            if late && !shown {
                stale.push(write.clone());
            }
            !shown && !late
        });
        let turn = if unseen.is_empty() {
            Turn::Go { stale: stale.len() as u64 }
        } else if let Some(waiting) = state.waiting.get_mut(key) {
            *waiting = priority.max(*waiting);
            Turn::Waiting
        } else {
            state.waiting.insert(key.clone(), priority);
            Turn::Wait(unseen.clone())
        };
        if !unseen.is_empty() {
            state.by_key.insert(key.clone(), unseen);
        }
        drop(state);
        for Write { informer, object, version, .. } in stale {
            let (informer, version) = (informer.name(), version.to_string());
            tracing::warn!(target: "informer::controller",
                controller,
                %key,
                informer,
                %object,
                version,
                "the cache does not show what was written: reconciling with what there is"
            );
        }
        turn
    }

    /// The key waits no longer; answers the priority at which it is to come up.
    pub(super) fn waited(&self, key: &ObjectKey) -> Option<Priority> {
        self.lock().waiting.remove(key)
    }

    /// How many keys wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
