//! Series: begun by the second event, reported every half hour, finished after six quiet minutes.

use informer_core::EventWriteKind::{Create, Patch};
use informer_core::{
    EventSeries, EventSeriesOptions, EventWrite, EventWriteKind, EventWriteOutcome, Observed, Settled,
};

use crate::support::at;

/// A machine whose writes succeed at once.
struct AtOnce(EventSeries<&'static str, u32>);

impl AtOnce {
    fn new() -> Self {
        Self(EventSeries::new(at(0), EventSeriesOptions::default()))
    }

    fn tell(&mut self, secs: u64, key: &'static str, event: u32) -> Vec<(EventWriteKind, u32)> {
        self.0.observe(at(secs), key, event);
        self.writes(secs)
    }

    fn look(&mut self, secs: u64) -> Vec<(EventWriteKind, u32)> {
        self.0.handle_timeout(at(secs));
        self.writes(secs)
    }

    fn writes(&mut self, secs: u64) -> Vec<(EventWriteKind, u32)> {
        let mut writes = Vec::new();
        while let Some(EventWrite { id, kind, count, .. }) = self.0.poll_write(at(secs)) {
            assert_eq!(self.0.written(at(secs), id, EventWriteOutcome::Done), Settled::Reported);
            writes.push((kind, count));
        }
        writes
    }
}

#[test]
fn default_figures_are_client_gos() {
    let options = EventSeriesOptions::default();
    assert_eq!((options.finish.as_secs(), options.refresh.as_secs()), (360, 1800));
}

#[test]
fn second_isomorphic_event_begins_a_series_and_later_ones_are_counted() {
    let mut series = AtOnce::new();
    assert_eq!(series.tell(0, "a", 1), [(Create, 1)]);
    assert_eq!(series.tell(1, "a", 2), [(Patch, 2)]);
    for number in 3..100 {
        assert_eq!(series.tell(2, "a", number), []);
    }
    assert_eq!(series.tell(3, "b", 1), [(Create, 1)], "another action, another event");
    assert_eq!(series.0.pending(), 97);
}

#[test]
fn quiet_series_gets_one_last_patch_and_is_forgotten() {
    let mut series = AtOnce::new();
    for number in 1..=5 {
        series.tell(60, "a", number);
    }
    assert_eq!(series.look(361), [], "quiet for 5 min");
    assert_eq!(series.look(719), [], "not yet looked again");
    assert_eq!(series.look(721), [(Patch, 5)]);
    assert!(series.0.is_empty());
    assert_eq!(series.tell(722, "a", 6), [(Create, 1)], "a first again");
}

#[test]
fn quiet_single_event_is_forgotten_without_a_write() {
    let mut series = AtOnce::new();
    series.tell(0, "a", 1);
    assert_eq!(series.look(361), []);
    assert!(series.0.is_empty());
    assert_eq!(series.0.poll_timeout(), None);
}

#[test]
fn finished_series_is_not_patched_with_what_is_known() {
    let mut series = AtOnce::new();
    series.tell(0, "a", 1);
    series.tell(0, "a", 2);
    assert_eq!(series.look(361), []);
    assert!(series.0.is_empty());
}

#[test]
fn series_that_goes_on_is_reported_every_half_hour() {
    let mut series = AtOnce::new();
    let mut reports = Vec::new();
    for minute in 0..120 {
        reports.extend(series.tell(minute * 60, "a", minute as u32).iter().map(|told| (minute, *told)));
        reports.extend(series.look(minute * 60).iter().map(|told| (minute, *told)));
    }
    // Looked for every 6 min, so the report after minute 1 comes at 36, and then each 30.
    let expected =
        [(0, (Create, 1)), (1, (Patch, 2)), (36, (Patch, 37)), (66, (Patch, 67)), (96, (Patch, 97))];
    assert_eq!(reports, expected);
}

#[test]
fn hundred_events_while_the_first_is_written_are_one_patch_of_the_whole() {
    let mut series = AtOnce::new();
    series.0.observe(at(0), "a", 1);
    let first = series.0.poll_write(at(0)).unwrap();
    for number in 2..=100 {
        assert_eq!(series.0.observe(at(0), "a", number), Observed::Counted);
    }
    assert_eq!(series.0.poll_write(at(0)), None);
    series.0.written(at(0), first.id, EventWriteOutcome::Done);
    assert_eq!(series.writes(0), [(Patch, 100)]);
}

#[test]
fn series_without_its_original_is_created() {
    let mut series = AtOnce::new();
    series.tell(0, "a", 1);
    series.0.observe(at(1), "a", 2);
    let patch = series.0.poll_write(at(1)).unwrap();
    assert_eq!(series.0.written(at(1), patch.id, EventWriteOutcome::Missing), Settled::Later);
    assert_eq!(series.writes(1), [(Create, 2)]);
    assert_eq!(series.tell(2, "a", 3), []);
}

#[test]
fn failed_report_does_not_end_a_series() {
    let mut series = AtOnce::new();
    series.tell(0, "a", 1);
    series.0.observe(at(1), "a", 2);
    let patch = series.0.poll_write(at(1)).unwrap();
    assert_eq!(series.0.written(at(1), patch.id, EventWriteOutcome::Failed), Settled::Lost);
    assert_eq!(series.tell(2, "a", 3), []);
    series.0.flush();
    assert_eq!(series.writes(3), [(Patch, 3)], "the next report has the whole count");
}

#[test]
fn series_that_is_crowded_out_tells_what_it_knows() {
    let mut options = EventSeriesOptions::default();
    options.capacity = 2;
    let mut series = AtOnce(EventSeries::new(at(0), options));
    for number in 1..=3 {
        series.tell(0, "a", number);
    }
    assert_eq!(series.tell(0, "b", 1), [(Create, 1)]);
    assert_eq!(series.tell(0, "c", 1), [(Patch, 3), (Create, 1)]);
    assert_eq!((series.0.len(), series.0.pending()), (2, 0));
}

#[test]
fn flush_reports_also_what_comes_while_a_report_is_written() {
    let mut series = AtOnce::new();
    series.tell(0, "a", 1);
    series.0.observe(at(1), "a", 2);
    let patch = series.0.poll_write(at(1)).unwrap();
    assert_eq!(series.0.observe(at(1), "a", 3), Observed::Counted);
    series.0.flush();
    assert_eq!(series.0.poll_write(at(1)), None);
    series.0.written(at(1), patch.id, EventWriteOutcome::Done);
    assert_eq!(series.writes(1), [(Patch, 3)]);
    assert_eq!(series.tell(2, "a", 4), [(Patch, 4)]);
}
