//! Each checker can fail: a deliberate fault is found within a few seeds, by the checker that is there for it.

use informer_sim::{Checker, Config, Mutant, run};

/// Within so many seeds a mutant has to be caught.
const SEEDS: u64 = 200;

fn is_caught(mutant: Mutant, checker: Checker) {
    let caught = (0..SEEDS).find(|&seed| {
        let outcome = run(Config { seed, mutant: Some(mutant), ..Config::default() });
        outcome.violations.iter().any(|violation| violation.checker == checker)
    });
    assert!(caught.is_some(), "{checker:?} let {mutant:?} pass in {SEEDS} seeds");
    println!("{checker:?} catches {mutant:?} at seed {}", caught.unwrap_or_default());
}

#[test]
fn converged_catches_a_lost_delete() {
    is_caught(Mutant::LostDelete, Checker::Converged);
}

#[test]
fn converged_catches_a_lost_batch() {
    is_caught(Mutant::DropsDeliver, Checker::Converged);
}

#[test]
fn ordered_catches_swapped_notifications() {
    is_caught(Mutant::SwapsNotifications, Checker::Ordered);
}

#[test]
fn unique_catches_a_batch_delivered_twice() {
    is_caught(Mutant::DeliversTwice, Checker::Unique);
}

#[test]
fn no_lost_delete_catches_deletions_of_the_unknown() {
    is_caught(Mutant::DropsAdded, Checker::NoLostDelete);
}

#[test]
fn prev_obj_catches_a_wrong_old_object() {
    is_caught(Mutant::WrongOld, Checker::PrevObj);
}

#[test]
fn index_catches_wrong_values() {
    is_caught(Mutant::WrongIndexValues, Checker::Index);
}

#[test]
fn synced_catches_an_early_marker() {
    is_caught(Mutant::SyncedFirst, Checker::Synced);
}

#[test]
fn read_your_writes_catches_an_early_bookmark() {
    is_caught(Mutant::EarlyBookmark, Checker::ReadYourWrites);
}

#[test]
fn snapshot_catches_a_list_at_the_wrong_version() {
    is_caught(Mutant::OldListVersion, Checker::Snapshot);
}

#[test]
fn snapshot_catches_a_lost_delete() {
    is_caught(Mutant::LostDelete, Checker::Snapshot);
}

#[test]
fn filter_catches_a_server_that_ignores_the_selector() {
    is_caught(Mutant::IgnoresSelector, Checker::Filter);
}

#[test]
fn bounded_catches_a_long_backlog() {
    is_caught(Mutant::LongBacklog, Checker::Bounded);
}

#[test]
fn quiet_catches_a_driver_that_does_not_back_off() {
    is_caught(Mutant::NoBackOff, Checker::Quiet);
}

#[test]
fn detected_catches_a_swallowed_contradiction() {
    is_caught(Mutant::SwallowsWentBack, Checker::Detected);
}

#[test]
fn gone_catches_objects_that_stay() {
    is_caught(Mutant::KeepsGone, Checker::Gone);
}
