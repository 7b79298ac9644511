//! The queue by examples, most of them client-go's.

use informer_core::{Deletion, Delta, DeltaFifo, Entry, Item, LastState, Replacement};

use crate::helpers::{added, deleted, identity, key, plain, simple, updated};

/// One word a delta: `A10`, `U12`, `D15` (final state), `D?14` (earlier state), `D?`, `P16` (replaced), `S`, `W`, `B`.
fn word(delta: &Delta<u32>) -> String {
    match delta {
        Delta::Added(item) => format!("A{}", item.object.value),
        Delta::Updated(item) => format!("U{}", item.object.value),
        Delta::Replaced(item) => format!("P{}", item.object.value),
        Delta::Deleted(deletion) => match deletion.state() {
            LastState::Known(object) => format!("D{}", object.value),
            LastState::Stale(object) => format!("D?{}", object.value),
            LastState::Unknown => "D?".into(),
        },
        Delta::Sync(key) => format!("S{key}"),
        Delta::SyncAll => "S".into(),
        Delta::ReplacedAll(list) => format!("W{}", list.entries.len()),
        Delta::Bookmark(version) => format!("B{version}"),
        Delta::Undecodable(identity) => format!("X{}", identity.version),
    }
}

fn words(deltas: &[Delta<u32>]) -> String {
    deltas.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Everything by key: `foo[A1 U2] bar[D3]`, with `*` if it was initial.
fn pops(fifo: &mut DeltaFifo<u32>) -> String {
    let mut output = Vec::new();
    while let Some(popped) = fifo.pop() {
        let key = popped.key.map_or("-".into(), |key| key.to_string());
        output.push(format!(
            "{key}[{}]{}",
            words(&popped.deltas),
            if popped.in_initial_list { "*" } else { "" }
        ));
    }
    output.join(" ")
}

fn fifo(deltas: impl IntoIterator<Item = Delta<u32>>) -> DeltaFifo<u32> {
    let mut fifo = DeltaFifo::new();
    deltas.into_iter().for_each(|delta| fifo.push(delta));
    fifo
}

fn items(objects: &[(&str, u32)]) -> Vec<Item<u32>> {
    objects.iter().map(|(name, version)| plain(&simple(name, *version))).collect()
}

/// Replaces while the reader knows foo 5, bar 6 and baz 7.
fn replace(fifo: &mut DeltaFifo<u32>, objects: &[(&str, u32)]) {
    let known = [simple("foo", 5), simple("bar", 6), simple("baz", 7)];
    fifo.replace(100.into(), items(objects), &known);
}

/// `TestRealFIFO_addUpdate`: nothing is merged.
#[test]
fn drain_gives_every_delta_in_order_of_arrival() {
    let mut fifo = fifo([added("foo", 10), added("bar", 1), updated("foo", 12), deleted("foo", 15)]);
    assert_eq!(fifo.len(), 4);
    assert_eq!(words(&fifo.drain()), "A10 A1 U12 D15");
    assert!(fifo.is_empty() && fifo.drain().is_empty());
}

/// `TestDeltaFIFO_addUpdate`: one key's deltas come together.
#[test]
fn pop_gives_all_deltas_of_the_oldest_key() {
    let mut fifo = fifo([added("foo", 10), added("bar", 1), updated("foo", 12), deleted("foo", 15)]);
    assert_eq!(pops(&mut fifo), "foo[A10 U12 D15] bar[A1]");
}

/// `TestDeltaFIFO_detectLineJumpers`: new deltas of a popped key wait at the end.
#[test]
fn popped_key_goes_to_the_end_of_the_line() {
    let mut fifo =
        fifo([added("foo", 10), added("bar", 1), added("foo", 11), added("foo", 13), added("zab", 30)]);
    assert_eq!(words(&fifo.pop().unwrap().deltas), "A10 A11 A13");
    fifo.push(added("foo", 14));
    assert_eq!(pops(&mut fifo), "bar[A1] zab[A30] foo[A14]");
}

/// `TestRealFIFO_enqueueingNoLister`.
#[test]
fn deletion_of_an_unknown_object_is_queued() {
    let nobody = Deletion { identity: identity(&simple("faz", 20)), last_state: None };
    let mut fifo = fifo([added("foo", 10), deleted("baz", 18), Delta::Deleted(nobody)]);
    assert_eq!(words(&fifo.drain()), "A10 D18 D?");
}

/// `TestRealFIFO_ReplaceMakesDeletions`, five cases.
#[test]
fn replace_deletes_what_is_missing_with_the_latest_state_queued() {
    for (queued, expected) in [
        (vec![deleted("baz", 10)], "D10 D?6 P15"),
        (vec![added("foo", 10), added("baz", 9)], "A10 A9 D?9 D?6 P15"),
        (vec![added("baz", 10), updated("baz", 11)], "A10 U11 D?11 D?6 P15"),
        (vec![added("baz", 10), deleted("baz", 11), added("baz", 12)], "A10 D11 A12 D?12 D?6 P15"),
        (vec![deleted("bar", 8), deleted("baz", 9)], "D8 D9 P15"),
        (vec![Delta::Sync(key("bar"))], "Sbar D?6 D?7 P15"),
    ] {
        let mut fifo = fifo(queued);
        replace(&mut fifo, &[("foo", 15)]);
        assert_eq!(words(&fifo.drain()), expected);
    }
}

/// `TestRealFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue`.
#[test]
fn replace_deletes_objects_that_are_only_queued_once() {
    for (queued, replacements, expected) in [
        (vec![added("x", 1)], 1, "A1 D?1"),
        (vec![added("x", 1), deleted("x", 2)], 1, "A1 D2"),
        (vec![added("x", 1)], 2, "A1 D?1"),
        (vec![added("x", 1), deleted("x", 2), added("x", 3)], 1, "A1 D2 A3 D?3"),
        (vec![Delta::Bookmark(4.into())], 1, "B4"),
        (vec![Delta::Undecodable(identity(&simple("x", 4)))], 1, "X4 D?"),
    ] {
        let mut fifo = fifo(queued);
        for _ in 0..replacements {
            fifo.replace(9.into(), Vec::new(), &[]);
        }
        assert_eq!(words(&fifo.drain()), expected);
    }
}

/// `TestRealFIFO_replaceWithDeleteDeltaIn`.
#[test]
fn replace_after_a_deletion_brings_the_object_back() {
    let mut fifo = fifo([deleted("foo", 1)]);
    fifo.replace(9.into(), items(&[("foo", 2)]), &[simple("foo", 1)]);
    assert_eq!(pops(&mut fifo), "foo[D1 P2]");
}

#[test]
fn deletion_made_by_replace_is_at_the_version_of_the_list() {
    let mut fifo = DeltaFifo::new();
    fifo.replace(9.into(), Vec::new(), &[simple("foo", 1)]);
    let deltas = fifo.drain();
    let [Delta::Deleted(deletion)] = &deltas[..] else { panic!("one deletion") };
    assert_eq!(deletion.identity.version, 9.into());
    assert!(matches!(deletion.state(), LastState::Stale(_)));
}

/// `TestDeltaFIFO_DeleteExistingNonPropagated` and the deduplication rule.
#[test]
fn two_deletions_in_a_row_pop_as_the_better_informed_one() {
    let unseen =
        |version| Delta::Deleted(Deletion { identity: identity(&simple("x", version)), last_state: None });
    for (queued, expected) in [
        (vec![added("x", 1), deleted("x", 2), unseen(3)], "x[A1 D2]"),
        (vec![unseen(1), deleted("x", 2)], "x[D2]"),
        (vec![deleted("x", 1), deleted("x", 2)], "x[D2]"),
        (vec![deleted("x", 1), added("x", 2), deleted("x", 3)], "x[D1 A2 D3]"),
    ] {
        assert_eq!(pops(&mut fifo(queued)), expected);
    }
}

/// `TestRealFIFO_Resync`, `TestRealFIFO_ResyncNonExisting`, `TestRealFIFO_UpdateResyncRace`.
#[test]
fn resync_skips_keys_that_are_queued() {
    let known = [simple("foo", 5), simple("bar", 6)];
    for (queued, expected) in [
        (vec![], "Sfoo Sbar"),
        (vec![updated("foo", 6)], "U6 Sbar"),
        (vec![deleted("foo", 10)], "D10 Sbar"),
        (vec![Delta::Sync(key("foo"))], "Sfoo Sbar"),
    ] {
        let mut fifo = fifo(queued);
        fifo.resync(&known);
        assert_eq!(words(&fifo.drain()), expected);
    }
}

/// `TestRealFIFO_HasSynced`: a delta is processed when the reader comes back.
#[test]
fn has_synced_when_the_first_list_has_been_processed() {
    assert!(!DeltaFifo::<u32>::new().has_synced());
    assert!(fifo([added("a", 1)]).has_synced());
    assert!(!fifo([Delta::Bookmark(1.into())]).has_synced());

    let mut empty = DeltaFifo::<u32>::new();
    empty.replace(1.into(), Vec::new(), &[]);
    assert!(empty.has_synced());

    let mut two = DeltaFifo::new();
    two.replace(3.into(), items(&[("a", 1), ("b", 2)]), &[]);
    assert!(!two.has_synced());
    two.pop();
    assert!(!two.has_synced());
    two.pop();
    assert!(!two.has_synced(), "the last one is in the reader's hands");
    two.processed();
    assert!(two.has_synced());

    let mut twice = DeltaFifo::new();
    twice.replace(3.into(), items(&[("a", 1), ("a", 2)]), &[]);
    assert_eq!(words(&twice.pop().unwrap().deltas), "P1 P2");
    assert!(twice.pop().is_none() && twice.has_synced());
}

/// `TestRealFIFO_HasSyncedCorrectOnDeletion`.
#[test]
fn deletions_of_the_first_list_are_initial_too() {
    let mut fifo = DeltaFifo::new();
    replace(&mut fifo, &[("foo", 15)]);
    assert_eq!(pops(&mut fifo), "bar[D?6]* baz[D?7]* foo[P15]*");
    assert!(fifo.has_synced());
}

#[test]
fn what_comes_after_the_first_list_is_not_initial() {
    let mut fifo = DeltaFifo::new();
    fifo.replace(3.into(), items(&[("a", 1)]), &[]);
    fifo.push(added("b", 2));
    fifo.push(updated("a", 3));
    assert_eq!(pops(&mut fifo), "a[P1 U3]* b[A2]");
}

/// `TestRealFIFO_ReplaceAtomic`, `TestRealFIFO_ReplaceAtomicPop`, `TestRealFIFO_ResyncAtomic`.
#[test]
fn whole_lists_stay_in_order_and_come_alone() {
    let whole = |objects: &[(&str, u32)]| {
        let entries = items(objects).into_iter().map(Entry::Object).collect();
        Delta::ReplacedAll(Replacement { version: 9.into(), namespace: None, entries, complete: true })
    };
    let deltas = || {
        [
            Delta::Bookmark(4.into()),
            added("a", 5),
            whole(&[("a", 6)]),
            updated("a", 7),
            whole(&[]),
            Delta::SyncAll,
        ]
    };
    assert_eq!(words(&fifo(deltas()).drain()), "B4 A5 W1 U7 W0 S");
    assert_eq!(pops(&mut fifo(deltas())), "-[B4] a[A5] -[W1] a[U7] -[W0] -[S]");

    let mut first = fifo([whole(&[("a", 1)])]);
    assert!(!first.has_synced());
    assert_eq!(words(&first.drain()), "W1");
    assert!(!first.has_synced(), "not while it is being processed");
    first.processed();
    assert!(first.has_synced());
}

#[test]
fn replace_behind_a_whole_list_is_queued_whole() {
    let list = Replacement { version: 9.into(), namespace: None, entries: Vec::new(), complete: true };
    let mut fifo = fifo([Delta::ReplacedAll(list)]);
    replace(&mut fifo, &[("foo", 15)]);
    assert_eq!(words(&fifo.drain()), "W0 W1");
}
