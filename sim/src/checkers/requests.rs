//! How often the informer asks.

use std::collections::VecDeque;
use std::time::Duration;

use informer_core::reflector::Request;
use informer_core::{Backoff, BackoffOptions, Mono, Rng};

use super::{Checker, Court};

/// Attempts in a second, pages not counted: a list whose version was lost and the one after it, the watch, and five
/// watches that ended at once but brought something.
const BURST: (Duration, usize) = (Duration::from_secs(1), 10);

/// Attempts in ten seconds: a watch that is ended each second is asked for again each second, beside a burst.
const FLOW: (Duration, usize) = (Duration::from_secs(10), 20);

/// What may be under way when an outage begins, and what may follow at once during it: a list in place of a WatchList,
/// a list without a version, and what an answer still on its way brings about.
const AT_ONCE: usize = 4;

/// Counts the requests of each scope.
pub(crate) struct RequestCheck {
    recent: Vec<VecDeque<Mono>>,
    outage: Option<(Mono, Vec<usize>)>,
}

impl RequestCheck {
    pub(crate) fn new(scopes: usize) -> Self {
        Self { recent: vec![VecDeque::new(); scopes], outage: None }
    }

    /// Somebody asked for a new beginning: the first attempts of it are not the machine's own.
    pub(crate) fn restarted(&mut self) {
        self.recent.iter_mut().for_each(VecDeque::clear);
        self.outage = None;
    }

    /// A request was sent.
    pub(crate) fn sent(&mut self, now: Mono, scope: usize, request: &Request, court: &mut Court) {
        let is_page = matches!(request, Request::List(list) if list.continue_token.is_some());
        if let Some((_, sent)) = &mut self.outage {
            sent[scope] += 1;
        }
        if is_page {
            return;
        }
        let recent = &mut self.recent[scope];
        recent.push_back(now);
        while recent.front().is_some_and(|&at| now.since(at) >= FLOW.0) {
            recent.pop_front();
        }
        for (span, allowed) in [BURST, FLOW] {
            let sent = recent.iter().filter(|&&at| now.since(at) < span).count();
            court.require(sent <= allowed, Checker::Quiet, || {
                format!("scope {scope}: {sent} requests in {span:?}")
            });
        }
    }

    /// From now on every request fails.
    pub(crate) fn outage_begins(&mut self, now: Mono) {
        self.outage = Some((now, vec![0; self.recent.len()]));
    }

    /// The outage is over: were there more attempts than client-go's back-off would have made?
    pub(crate) fn outage_ends(&mut self, now: Mono, court: &mut Court) {
        let Some((from, sent)) = self.outage.take() else { return };
        let outage = now.since(from);
        let mut back_off = Backoff::new(BackoffOptions { jitter: 0.0, ..BackoffOptions::default() });
        let (mut allowed, mut elapsed) = (AT_ONCE, Duration::ZERO);
        while elapsed < outage {
            elapsed += back_off.next_delay(&mut Rng::new(0));
            allowed += 1;
        }
        for (scope, sent) in sent.into_iter().enumerate() {
            court.require(sent <= allowed, Checker::Quiet, || {
                format!("scope {scope}: {sent} requests in an outage of {outage:?}, {allowed} allowed")
            });
        }
    }
}
