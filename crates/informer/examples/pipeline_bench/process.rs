//! What the kernel says of this process.

use std::fmt;
use std::time::Duration;

/// CPU time of the process, in ticks of 10 ms.
pub(crate) struct Usage {
    user: u64,
    system: u64,
}

impl Usage {
    pub(crate) fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
        // The name of the process, in parentheses, may hold spaces.
        let mut fields = stat.rsplit_once(')').expect("a name").1.split_whitespace().skip(11);
        let mut ticks = || fields.next().expect("a field").parse().expect("a number");
        Self { user: ticks(), system: ticks() }
    }

    pub(crate) fn elapsed(&self) -> Self {
        let now = Self::now();
        Self { user: now.user - self.user, system: now.system - self.system }
    }

    pub(crate) fn per(&self, count: u64) -> String {
        let each = |ticks: u64| ticks as f64 * 1e4 / count as f64;
        let (user, system) = (each(self.user), each(self.system));
        format!("CPU {:.1} us each (user {user:.1}, system {system:.1})", user + system)
    }

    pub(crate) fn rate(&self, count: u64) -> f64 {
        count as f64 * 100.0 / (self.user + self.system) as f64
    }
}

impl fmt::Debug for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.per(1))
    }
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has /proc");
    let first = stat.split_whitespace().next().expect("a field");
    Duration::from_nanos(first.parse().expect("a number"))
}

/// Resident memory, in bytes.
pub(crate) fn resident() -> u64 {
    status("VmRSS:")
}

/// The most there ever was.
pub(crate) fn resident_peak() -> u64 {
    status("VmHWM:")
}

fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
