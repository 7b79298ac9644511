//! How long is waited, how often is asked, and when it counts as healthy again.

use super::super::Reflector;
use super::words::{added, modified};
use super::*;
use crate::{Backoff, BackoffOptions, Rng};

/// How many requests a back-off that never resets sends in this time.
fn requests_of_backoff(duration: Duration, seed: u64) -> usize {
    let (mut rng, mut backoff) =
        (Rng::new(seed), Backoff::new(BackoffOptions { jitter: 0.0, ..Default::default() }));
    let (mut elapsed, mut count) = (Duration::ZERO, 1);
    while elapsed < duration {
        elapsed += backoff.next_delay(&mut rng);
        count += 1;
    }
    count
}

#[test]
fn refused_watches_back_off_to_the_cap_and_never_list() {
    let mut bench = Bench::listed("10", "a@5");
    for base in [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000] {
        bench.answer(fail(FailureKind::Refused));
        let delay = bench.wait();
        assert!(delay >= Duration::from_millis(base) && delay < Duration::from_millis(2 * base), "{delay:?}");
    }
    bench.answer(Answer::Open(vec![added("b@11")]));
    assert_eq!(bench.count("LIST"), 0);
    assert_eq!(bench.stored(), "a@5 b@11");
}

#[test]
fn too_many_requests_never_relist() {
    let mut bench = Bench::listed("10", "a@5");
    for _ in 0..4 {
        bench.answer(fail(FailureKind::TooManyRequests));
    }
    bench.answer(Answer::Open(vec![]));
    assert_eq!(bench.requests, ["WATCH rv=10"; 4]);
}

#[test]
fn too_many_requests_in_the_stream_wait_and_never_relist() {
    let mut bench = Bench::listed("10", "a@5");
    for _ in 0..20 {
        bench.answer(Answer::Open(vec![WatchEvent::Error(failure(FailureKind::TooManyRequests))]));
    }
    assert_eq!(bench.count("LIST"), 0);
}

#[test]
fn retry_after_is_respected_but_not_without_bound() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answer(Answer::Fail(failure_after(FailureKind::TooManyRequests, 17)));
    assert_eq!(bench.wait(), Duration::from_secs(17));
    bench.answer(Answer::Fail(failure_after(FailureKind::TooManyRequests, 1)));
    assert!(bench.wait() >= Duration::from_millis(1_600), "the longer of the two");
    bench.answer(Answer::Fail(failure_after(FailureKind::Internal, u64::MAX)));
    assert_eq!(bench.wait(), Duration::from_secs(300));
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false));
    bench.answer(Answer::Fail(failure_after(FailureKind::TooManyRequests, 9)));
    assert_eq!(bench.wait(), Duration::from_secs(9), "lists too");
}

#[test]
fn forbidden_list_recovers_within_one_step_and_its_cause_is_known() {
    for kind in [FailureKind::Forbidden, FailureKind::Unauthorized] {
        let mut bench = Bench::new(ReflectorOptions::new().watch_list(false));
        for _ in 0..10 {
            bench.answer(fail(kind));
            assert!(matches!(bench.reflector.phase(), Phase::BackingOff { .. }));
            assert_eq!(bench.reflector.last_failure().unwrap().kind, kind);
        }
        assert!(bench.wait() <= Duration::from_secs(60));
        bench.answers([list("10", "a@5"), Answer::Open(vec![])]);
        assert_eq!(bench.stored(), "a@5");
        bench.pass(Duration::from_secs(1));
        assert_eq!(bench.troubles.last().unwrap(), "Recovered");
        assert!(!bench.reflector.is_failing());
    }
}

#[test]
fn forbidden_watch_is_told_at_once_and_retried() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answer(fail(FailureKind::Forbidden));
    assert_eq!(bench.troubles, ["RequestFailed watch Forbidden"]);
    bench.wait();
    assert_eq!(bench.requests, ["WATCH rv=10"]);
}

#[test]
fn recovery_is_told_once_by_the_first_event() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answers([fail(FailureKind::Refused), fail(FailureKind::Refused)]);
    bench.answer(Answer::Open(vec![modified("a@11"), modified("a@12")]));
    bench.pass(Duration::from_secs(40));
    assert_eq!(bench.troubled_by("Recovered"), 1);
}

#[test]
fn list_that_works_before_a_watch_that_never_does_is_no_health() {
    let mut bench = Bench::listed("10", "a@5");
    let mut delay = Duration::ZERO;
    for _ in 0..10 {
        bench.answer(fail(FailureKind::Expired));
        delay = bench.wait();
        bench.answer(list("10", "a@5"));
    }
    assert!(delay >= Duration::from_secs(30), "the back-off has grown to its cap");
}

#[test]
fn watch_that_lived_resets_the_back_off() {
    for (life, reset) in [(20, false), (40, true)] {
        let mut bench = Bench::listed("10", "a@5");
        for _ in 0..8 {
            bench.answer(fail(FailureKind::Refused));
        }
        bench.answer(Answer::Open(vec![]));
        bench.pass(Duration::from_secs(life));
        bench.give(Input::Failed(failure(FailureKind::Transport)));
        assert_eq!(bench.wait() < Duration::from_millis(1_600), reset, "after {life} s");
    }
}

#[test]
fn outage_of_an_hour_sends_no_more_than_the_back_off_and_recovers_within_a_step() {
    let kinds = [
        FailureKind::Refused,
        FailureKind::Transport,
        FailureKind::TooManyRequests,
        FailureKind::Unauthorized,
        FailureKind::Forbidden,
        FailureKind::NotFound,
        FailureKind::Internal,
        FailureKind::Status,
    ];
    for (seed, kind) in kinds.into_iter().enumerate() {
        for synced in [false, true] {
            let mut bench = Bench::seeded(ReflectorOptions::new().watch_list(!synced), seed as u64);
            if synced {
                bench.answer(list("10", ""));
            }
            bench.forget();
            let start = bench.now.mono;
            while bench.now.mono.since(start) < Duration::from_secs(3_600) {
                bench.answer(fail(kind));
                bench.wait();
            }
            let most = requests_of_backoff(Duration::from_secs(3_600), seed as u64);
            assert!(bench.requests.len() <= most, "{kind:?}: {} of {most}", bench.requests.len());
            bench.answer(fail(kind));
            assert!(bench.wait() < Duration::from_secs(60));
        }
    }
}

#[test]
fn rejected_watch_relists_when_its_version_is_about_to_expire_anyway() {
    let mut bench = Bench::listed("10", "a@5");
    let start = bench.now.mono;
    while bench.count("LIST") == 0 {
        bench.answer(fail(FailureKind::Internal));
        bench.wait();
    }
    let elapsed = bench.now.mono.since(start);
    assert!(elapsed > Duration::from_secs(150) && elapsed < Duration::from_secs(600), "{elapsed:?}");
}

#[test]
fn equal_seeds_give_equal_histories() {
    let history = |seed| {
        let mut reflector = Reflector::<u64>::new(ReflectorOptions::new(), seed);
        let mut now = Now::default();
        let mut said = Vec::new();
        reflector.start(now);
        for _ in 0..200 {
            match reflector.poll_output(now) {
                Output::Send(id, _) => {
                    reflector.handle(now, id, Input::Failed(failure(FailureKind::Internal)))
                }
                Output::Timeout(at) => now.mono = at.unwrap(),
                output => said.push(format!("{output:?} {now:?}")),
            }
        }
        said
    };
    assert_eq!(history(4), history(4));
    assert_ne!(history(4), history(5));
}
