//! How much really happened.

use crate::load::Load;

/// What a thousand seeds must have brought about at least, about half of what they do: otherwise they prove little.
const FLOOR_OF_A_THOUSAND: [(&str, u64); 31] = [
    ("changes in time", 800),
    ("changes that nobody was well for", 200),
    ("conflicts", 2_200),
    ("ends with release", 340),
    ("ends without release", 3_000),
    ("fault: answer lost", 2_800),
    ("fault: broken off", 6_000),
    ("fault: cut off", 10_000),
    ("fault: failed after the write", 2_800),
    ("fault: refused", 2_800),
    ("fault: request lost", 2_800),
    ("fault: slow answer", 2_800),
    ("fault: slow request", 2_800),
    ("kills", 1_600),
    ("labels", 500),
    ("losses", 2_000),
    ("new leaders told", 9_500),
    ("outages", 450),
    ("partitions", 1_300),
    ("pauses", 1_300),
    ("releases", 370),
    ("renewals", 85_000),
    ("requests", 260_000),
    ("stops", 1_300),
    ("stops of work", 440),
    ("terms", 3_500),
    ("works dropped", 880),
    ("works that come to their end", 330),
    ("works that nothing ended", 70),
    ("writes", 90_000),
    ("writes of the dead", 38),
];

/// What happened less often than so many seeds should have made it happen.
pub fn shortfalls(load: &Load, seeds: u64) -> Vec<String> {
    let short = FLOOR_OF_A_THOUSAND.iter().filter_map(|&(what, floor)| {
        let (has, wants) = (load.of(what), floor * seeds / 1_000);
        (has < wants).then(|| format!("{what}: {has}, but at least {wants} expected"))
    });
    short.collect()
}
