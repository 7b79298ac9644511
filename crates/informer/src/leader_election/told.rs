//! Errors of requests about the Lease: each is told once, the same again is only counted.

/// So many different errors are told before something works again; texts that never repeat would be told without end.
const MAX_TOLD: usize = 8;

/// What was told since it last worked, of reads and of writes apart: a read that works between writes that are refused is no
/// recovery.
#[derive(Debug, Default)]
pub(super) struct Told {
    reads: Vec<String>,
    writes: Vec<String>,
    /// The last error, until things work again.
    pub(super) last: Option<String>,
    repeated: u64,
}

impl Told {
    pub(super) fn error(&mut self, lease: &str, is_write: bool, error: String) {
        let told = if is_write { &mut self.writes } else { &mut self.reads };
        if told.contains(&error) || told.len() >= MAX_TOLD {
            self.repeated += 1;
            let repeated = self.repeated;
            tracing::debug!(target: "informer::leader_election", lease, repeated, "a request about the lease failed again: {error}");
        } else {
            tracing::warn!(target: "informer::leader_election", lease, "a request about the lease failed: {error}");
            told.push(error.clone());
        }
        self.last = Some(error);
    }

    pub(super) fn success(&mut self, lease: &str, is_write: bool) {
        self.reads.clear();
        if is_write || self.writes.is_empty() {
            self.recovered(lease);
        }
    }

    /// Somebody else leads: what our writes met does not matter any more.
    pub(super) fn recovered(&mut self, lease: &str) {
        self.writes.clear();
        if self.last.take().is_some() {
            tracing::info!(target: "informer::leader_election", lease, repeated = self.repeated, "requests about the lease work again");
            self.repeated = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_are_refused_between_reads_that_work_are_told_once() {
        let mut told = Told::default();
        for _ in 0..5 {
            told.success("l", false);
            told.error("l", true, "403 Forbidden".into());
        }
        assert_eq!((told.writes.len(), told.repeated, told.last.as_deref()), (1, 4, Some("403 Forbidden")));
        told.success("l", true);
        assert_eq!((told.writes.len(), told.repeated, told.last), (0, 0, None));
    }

    #[test]
    fn texts_that_never_repeat_are_not_told_without_end() {
        let mut told = Told::default();
        for number in 0..100 {
            told.error("l", false, format!("request {number} failed"));
        }
        assert_eq!((told.reads.len(), told.repeated), (MAX_TOLD, 92));
    }
}
