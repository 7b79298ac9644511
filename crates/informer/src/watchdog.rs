//! One thread of the process that looks whether handlers wait behind one that blocks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How often it looks, while there is something to look at. A handler waits for another one for two of these at most.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// What is looked at.
pub(crate) trait Watched: Send + Sync {
    /// Whether to go on looking: the clock has ticked.
    fn look(self: Arc<Self>, tick: u64) -> bool;
}

/// Its time is the machine's and not tokio's: a callback that blocks holds paused time still, and others must go on.
struct Watchdog {
    watched: Mutex<Vec<Arc<dyn Watched>>>,
    woken: Condvar,
    tick: AtomicU64,
}

/// The present tick: a clock that stands still while nothing is watched.
pub(crate) fn tick() -> u64 {
    WATCHDOG.get().and_then(Option::as_ref).map_or(0, |dog| dog.tick.load(Ordering::Relaxed))
}

/// Looks at this one with every tick until it has seen enough; says whether there is somebody to look.
pub(crate) fn watch(one: Arc<dyn Watched>) -> bool {
    let Some(dog) = WATCHDOG.get_or_init(start) else { return false };
    let mut watched = dog.watched.lock().unwrap_or_else(PoisonError::into_inner);
    watched.push(one);
    if watched.len() == 1 {
        dog.woken.notify_one();
    }
    true
}

/// Never stopped: it sleeps while nothing is watched. `None` if the system gave no thread.
static WATCHDOG: OnceLock<Option<Arc<Watchdog>>> = OnceLock::new();

fn start() -> Option<Arc<Watchdog>> {
    let dog =
        Arc::new(Watchdog { watched: Mutex::default(), woken: Condvar::new(), tick: AtomicU64::new(0) });
    let own = Arc::clone(&dog);
    let thread = std::thread::Builder::new().name("informer-watchdog".to_owned()).spawn(move || own.run());
    thread.is_ok().then_some(dog)
}

impl Watchdog {
    fn run(&self) {
        loop {
            let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            drop(
                self.woken
                    .wait_while(watched, |watched| watched.is_empty())
                    .unwrap_or_else(PoisonError::into_inner),
            );
            std::thread::sleep(TICK);
            let tick = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
            // Outside the lock: who is looked at may ask to be watched at the same time.
            let all = std::mem::take(&mut *self.watched.lock().unwrap_or_else(PoisonError::into_inner));
            let mut kept = Vec::with_capacity(all.len());
            for one in all {
                // It may start a thread, which may fail; the next tick tries again.
                let look = || Arc::clone(&one).look(tick);
                if catch_unwind(AssertUnwindSafe(look)).unwrap_or(true) {
                    kept.push(one);
                }
            }
            self.watched.lock().unwrap_or_else(PoisonError::into_inner).append(&mut kept);
        }
    }
}
