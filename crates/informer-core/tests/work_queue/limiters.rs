//! The rate limiters' figures, which are client-go's.

use std::time::Duration;

use informer_core::{
    ItemExponential, ItemFastSlow, Jittered, KeyId, MaxOf, Mono, RateLimiter, TokenBucket, WithMaxWait,
    WorkQueue, WorkQueueOptions,
};

const NOW: Mono = Mono(0);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The ids of two keys.
fn ids() -> (KeyId, KeyId) {
    let mut queue = WorkQueue::new(WorkQueueOptions::default(), (), 1);
    (queue.intern("one"), queue.intern("two"))
}

fn delays<const N: usize>(limiter: &mut impl RateLimiter, id: KeyId) -> [u64; N] {
    [(); N].map(|()| u64::try_from(limiter.when(NOW, id).as_millis()).unwrap())
}

/// `TestItemExponentialFailureRateLimiter`
#[test]
fn each_failure_doubles_the_keys_own_delay() {
    let mut limiter = ItemExponential::new(ms(1), Duration::from_secs(1));
    let (one, two) = ids();
    assert_eq!(delays(&mut limiter, one), [1, 2, 4, 8, 16]);
    assert_eq!(limiter.num_requeues(one), 5);
    assert_eq!(delays(&mut limiter, two), [1, 2]);
    assert_eq!(limiter.num_requeues(two), 2);
    limiter.forget(one);
    assert_eq!(limiter.num_requeues(one), 0);
    assert_eq!(delays(&mut limiter, one), [1]);
    assert_eq!(limiter.num_requeues(two), 2);
}

/// `TestItemExponentialFailureRateLimiterOverFlow`
#[test]
fn a_thousand_failures_end_at_the_cap() {
    for (base, cap) in [
        (ms(1), Duration::from_secs(1000)),
        (ms(1), Duration::MAX),
        (Duration::from_secs(60), Duration::from_secs(3600)),
        (Duration::MAX, Duration::MAX),
        (Duration::from_nanos(1), Duration::from_secs(1 << 40)),
    ] {
        let mut limiter = ItemExponential::new(base, cap);
        let mut last = Duration::ZERO;
        for failure in 0..1000 {
            let delay = limiter.when(NOW, ids().0);
            assert!(delay >= last && delay <= cap, "failure {failure}: {delay:?} after {last:?}");
            assert!(delay == cap || failure == 0 || delay == last * 2, "failure {failure}: {delay:?}");
            last = delay;
        }
        assert_eq!(last, cap);
        assert_eq!(limiter.num_requeues(ids().0), 1000);
    }
    let mut none = ItemExponential::new(Duration::ZERO, Duration::MAX);
    assert!((0..200).all(|_| none.when(NOW, ids().0).is_zero()));
}

/// `TestItemFastSlowRateLimiter`
#[test]
fn the_first_attempts_are_fast() {
    let mut limiter = ItemFastSlow::new(ms(5), Duration::from_secs(10), 3);
    let (one, two) = ids();
    assert_eq!(delays(&mut limiter, one), [5, 5, 5, 10_000, 10_000]);
    assert_eq!(limiter.num_requeues(one), 5);
    assert_eq!(delays(&mut limiter, two), [5, 5]);
    limiter.forget(one);
    assert_eq!(delays(&mut limiter, one), [5]);
}

/// `TestMaxOfRateLimiter`
#[test]
fn the_longest_delay_and_the_most_requeues_count() {
    let fast_slow = ItemFastSlow::new(ms(5), Duration::from_secs(3), 3);
    let exponential = ItemExponential::new(ms(1), Duration::from_secs(1));
    let mut limiter = MaxOf::new([Box::new(fast_slow) as Box<dyn RateLimiter>, Box::new(exponential)]);
    let (one, two) = ids();
    assert_eq!(delays(&mut limiter, one), [5, 5, 5, 3000, 3000]);
    assert_eq!(limiter.num_requeues(one), 5);
    assert_eq!(delays(&mut limiter, two), [5, 5]);
    limiter.forget(one);
    assert_eq!(limiter.num_requeues(one), 0);
    assert_eq!(delays(&mut limiter, one), [5]);
    assert_eq!(delays(&mut MaxOf::new([]), one), [0, 0]);
}

/// `TestWithMaxWaitRateLimiter`
#[test]
fn max_wait_caps_a_delay() {
    let mut limiter = WithMaxWait::new(ItemExponential::new(ms(1), Duration::from_secs(1000)), ms(6));
    let one = ids().0;
    assert_eq!(delays(&mut limiter, one), [1, 2, 4, 6, 6]);
    assert_eq!(limiter.num_requeues(one), 5);
    limiter.forget(one);
    assert_eq!(delays(&mut limiter, one), [1]);
}

/// client-go's default for controllers: 100 at once, then ten a second for all keys together; each key from 5 ms.
#[test]
fn the_default_is_a_burst_of_100_and_10_a_second() {
    let mut limiter = MaxOf::controller_default();
    let mut queue = WorkQueue::new(WorkQueueOptions::default(), (), 1);
    let ids: Vec<_> = (0..103).map(|key| queue.intern(key)).collect();
    let first: Vec<_> = ids.iter().map(|&id| limiter.when(NOW, id)).collect();
    assert!(first[..100].iter().all(|&delay| delay == ms(5)), "{first:?}");
    assert_eq!(first[100..], [ms(100), ms(200), ms(300)]);
    // After 1 s ten tokens have come, three of which were reserved.
    let later = Mono(1_000_000_000);
    assert_eq!(limiter.when(later, ids[0]), ms(10));
    assert!((0..6).all(|number| limiter.when(later, ids[3 + number]) == ms(10)));
    assert_eq!(limiter.when(later, ids[10]), ms(100));
    // Each key doubles up to 1000 s.
    assert_eq!((0..20).map(|_| limiter.when(Mono(u64::MAX), ids[50])).max(), Some(Duration::from_secs(1000)));
}

#[test]
fn a_full_bucket_holds_its_burst_and_time_that_goes_backwards_adds_nothing() {
    let mut bucket = TokenBucket::new(2.0, 3);
    let one = ids().0;
    let hour = Mono(3_600_000_000_000);
    let mut at = |at| bucket.when(at, one).as_millis();
    assert_eq!([at(hour), at(hour), at(hour), at(hour)], [0, 0, 0, 500]);
    assert_eq!([at(NOW), at(NOW)], [1000, 1500]);
    assert_eq!(at(hour), 2000);
}

#[test]
fn hostile_buckets_are_never_or_always_and_do_not_panic() {
    let one = ids().0;
    for (rate, burst, expected) in [
        (f64::INFINITY, 1, [Duration::ZERO; 2]),
        (f64::INFINITY, 0, [Duration::ZERO; 2]),
        (10.0, 0, [Duration::MAX; 2]),
        (0.0, 1, [Duration::ZERO, Duration::MAX]),
        (-5.0, 1, [Duration::ZERO, Duration::MAX]),
        (f64::NAN, 1, [Duration::ZERO, Duration::MAX]),
        (1e-300, 1, [Duration::ZERO, Duration::MAX]),
        (f64::MAX, u32::MAX, [Duration::ZERO; 2]),
    ] {
        let mut bucket = TokenBucket::new(rate, burst);
        assert_eq!([bucket.when(NOW, one), bucket.when(NOW, one)], expected, "{rate} {burst}");
        bucket.when(Mono(u64::MAX), one);
        bucket.when(NOW, one);
    }
}

#[test]
fn jitter_stays_within_its_share() {
    let one = ids().0;
    let mut seen = Vec::new();
    for seed in 0..200 {
        let mut limiter = Jittered::new(ItemFastSlow::new(ms(100), ms(100), 1), 0.5, seed);
        let delay = limiter.when(NOW, one);
        assert!(delay >= ms(100) && delay < ms(150), "{delay:?}");
        assert_eq!(limiter.num_requeues(one), 1);
        limiter.forget(one);
        assert_eq!(limiter.num_requeues(one), 0);
        seen.push(delay);
    }
    assert!(seen.iter().any(|&delay| delay < ms(110)) && seen.iter().any(|&delay| delay > ms(140)));
    for factor in [f64::NAN, -1.0, f64::INFINITY, 1e300] {
        let mut limiter = Jittered::new(ItemExponential::new(ms(1), Duration::MAX), factor, 1);
        assert!((0..200).all(|_| limiter.when(NOW, one) >= ms(1)));
    }
}
