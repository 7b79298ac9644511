//! What this process has used, from the operating system (Linux).

use std::time::Duration;

/// Kernels count processor time in these, whatever their own clock.
const TICKS_PER_SECOND: u64 = 100;

/// Processor time of all threads so far.
pub(crate) fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses: utime and stime are fields 14 and 15 of the line, 12 and 13 from here.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
}

/// Resident memory in bytes: now, or at its peak.
pub(crate) fn resident(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|text| text.strip_prefix(line)).unwrap_or_default();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1_024
}

pub(crate) const NOW: &str = "VmRSS";
pub(crate) const PEAK: &str = "VmHWM";
