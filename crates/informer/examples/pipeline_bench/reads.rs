//! What reads cost while the store is being written.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use informer::{ObjectKey, SharedInformer};

use crate::process::thread_cpu;

const LASTS: Duration = Duration::from_secs(2);

/// Gets by key on one and two threads, lists of a namespace on one; all beside the writer.
pub(crate) fn measure<V: Send + Sync + 'static>(informer: &SharedInformer<V>) {
    let objects = informer.snapshot().in_key_order();
    let keys: Arc<[ObjectKey]> = objects.iter().map(|object| object.key.clone()).collect();
    for readers in [1, 2] {
        let rate = on_threads(readers, || {
            // A handle a thread: cloning one counts references, where all threads meet.
            let (store, keys) = (informer.store(), Arc::clone(&keys));
            move |step| _ = black_box(store.get(&keys[step * 7919 % keys.len()]))
        });
        println!("  get by key, {readers} readers: {:.1} M/s of {readers} cores", rate / 1e6);
    }
    let mut names: Vec<&str> = keys.iter().map(ObjectKey::namespace).collect();
    names.dedup();
    let listed = objects.len() / names.len();
    let list = |name: &str| black_box(informer.lister().namespace(name).all()).len();
    let rate = on_threads(1, || |step| assert_eq!(list(names[step * 7 % names.len()]), listed));
    println!("  one namespace after the other, {listed} objects each: {:.2} us", 1e6 / rate);
    let rate = on_threads(1, || |_| _ = list(names[0]));
    println!("  the same namespace again and again: {:.2} us", 1e6 / rate);
}

/// How often a second of CPU does the operation, summed over the threads.
fn on_threads<O: Fn(usize)>(threads: usize, operation: impl Fn() -> O + Sync) -> f64 {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let run = |thread: usize| {
        let (operation, first) = (operation(), thread * 104_729);
        let (mut step, before) = (first, thread_cpu());
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..16 {
                operation(step);
                step += 1;
            }
        }
        let rate = (step - first) as f64 / (thread_cpu() - before).as_secs_f64();
        done.fetch_add(rate as u64, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let run = &run;
            scope.spawn(move || run(thread));
        }
        std::thread::sleep(LASTS);
        stop.store(true, Ordering::Relaxed);
    });
    done.load(Ordering::Relaxed) as f64
}
