//! The work: told to stop, waited for, dropped, given up; only then the record is given back.

use super::*;

fn sends_release(bench: &Bench) -> bool {
    let empties =
        |request: &Request| matches!(request, Request::Update { record, .. } if record.holder.is_empty());
    bench.said.iter().any(|output| matches!(output, Output::Send(_, request) if empties(request)))
}

#[test]
fn the_record_is_renewed_until_work_that_was_told_to_stop_has_ended() {
    let mut bench = Bench::with("a", |options| options.release(true).stop_timeout(SECOND * 60));
    bench.lead();
    bench.stop();
    assert!(bench.said(&Output::StopWork { lost: None }));
    for _ in 0..20 {
        bench.wait();
        assert!(!sends_release(&bench) && bench.election.leads(bench.now));
        bench.write();
    }
    bench.work_ended();
    assert!(sends_release(&bench) && !bench.election.leads(bench.now));
    bench.write();
    assert_eq!(
        bench.ended().unwrap(),
        &Summary { end: ElectionEnd::Stopped, released: true, work_ended: true }
    );
}

#[test]
fn work_that_does_not_stop_is_dropped_and_then_given_up_without_a_release() {
    let mut bench = Bench::with("a", |options| options.release(true).stop_timeout(SECOND));
    bench.lead();
    bench.stop();
    bench.pass(SECOND);
    assert!(bench.said(&Output::DropWork));
    while bench.ended().is_none() {
        bench.wait();
        if bench.said.iter().any(|output| matches!(output, Output::Send(..))) {
            bench.write();
        }
    }
    assert_eq!(
        bench.ended().unwrap(),
        &Summary { end: ElectionEnd::Stopped, released: false, work_ended: false }
    );
    assert!(bench.now.mono <= Mono(0).after(SECOND * 11));
    assert!(bench.election.unended_work_renewed_at().is_some(), "and is not forgotten");
    bench.work_ended();
    assert!(bench.election.unended_work_renewed_at().is_none());
}

#[test]
fn after_a_loss_the_work_has_until_another_may_lead() {
    let mut bench = Bench::new("a");
    bench.lead();
    while !bench.said(&lost(LossReason::Deadline)) {
        bench.wait();
    }
    assert_eq!(bench.now.mono, Mono(0).after(SECOND * 10));
    assert_eq!(bench.wait(), SECOND * 5);
    assert!(bench.said(&Output::DropWork));
    bench.work_ended();
    let end = ElectionEnd::Lost(LossReason::Deadline);
    assert_eq!(bench.ended().unwrap(), &Summary { end, released: false, work_ended: true });
}

#[test]
fn a_loss_shortens_the_time_that_was_given() {
    let mut bench = Bench::with("a", |options| options.stop_timeout(SECOND * 60));
    bench.lead();
    bench.stop();
    bench.pass(SECOND * 10);
    bench.pass(SECOND * 5);
    assert!(bench.said(&Output::DropWork));
}

#[test]
fn work_that_comes_to_its_end_ends_the_run() {
    for release in [false, true] {
        let mut bench = Bench::with("a", |options| options.release(release));
        bench.lead();
        bench.work_ended();
        if release {
            bench.write();
        }
        assert_eq!(
            bench.ended().unwrap(),
            &Summary { end: ElectionEnd::Finished, released: release, work_ended: true }
        );
    }
}

#[test]
fn a_stop_before_leadership_ends_at_once() {
    let mut bench = Bench::with("a", |options| options.release(true));
    bench.stop();
    assert_eq!(
        bench.ended().unwrap(),
        &Summary { end: ElectionEnd::NeverLed, released: false, work_ended: true }
    );
    assert_eq!(bench.due, None);
}

#[test]
fn a_stop_while_the_record_is_taken_gives_back_what_was_taken() {
    let mut bench = Bench::with("a", |options| options.release(true));
    bench.answer(Answer::NotFound);
    bench.stop();
    assert!(bench.ended().is_none());
    assert_eq!(&*bench.write().holder, "a");
    assert!(
        !bench.said.iter().any(|output| matches!(output, Output::Lead { .. })),
        "no work starts any more"
    );
    assert_eq!(&*bench.write().holder, "");
    assert_eq!(
        bench.ended().unwrap(),
        &Summary { end: ElectionEnd::NeverLed, released: true, work_ended: true }
    );
}

#[test]
fn a_stop_after_a_write_without_an_answer_looks_whether_it_took_place() {
    let mut bench = Bench::with("a", |options| options.release(true));
    bench.answer(Answer::NotFound);
    bench.answer(Answer::Failed(Written::Unknown));
    bench.stop();
    bench.wait();
    bench.read(record("a", 15));
    assert_eq!(&*bench.write().holder, "");
    assert!(bench.ended().unwrap().released);
}

#[test]
fn a_release_that_nobody_answers_is_given_up() {
    let mut bench = Bench::with("a", |options| options.release(true));
    bench.lead();
    bench.work_ended();
    while bench.ended().is_none() {
        bench.wait();
    }
    assert_eq!(
        bench.ended().unwrap(),
        &Summary { end: ElectionEnd::Finished, released: false, work_ended: true }
    );
    assert_eq!(bench.now.mono, Mono(0).after(SECOND * 10));
}

#[test]
fn another_run_can_follow() {
    let mut bench = Bench::new("a");
    bench.lead();
    bench.work_ended();
    bench.said.clear();
    bench.election.start(bench.now);
    bench.drain();
    bench.read(record("a", 15));
    bench.write();
    assert!(bench.election.leads(bench.now));
    assert_eq!(bench.election.counters().acquired, 2);
}
