//! Counting what the driver sends and gets. Nothing here decides anything.

use std::time::Duration;

use informer_core::Mono;
use informer_core::reflector::{Input, Request, RequestId, RequestKind, Trouble, WatchEvent};

use crate::informer_metrics::InformerMetrics;
use crate::listener::ListenerStats;

/// A watch that ends sooner and without an event is a short one (client-go's bound).
const SHORT_WATCH: Duration = Duration::from_secs(1);

/// What is counted for one informer.
#[derive(Default)]
pub(crate) struct Figures {
    metrics: InformerMetrics,
    /// The requests under way, one for each scope at most.
    flights: Vec<Flight>,
    /// The lists under way: pages are requests of their own.
    lists: Vec<ListUnderWay>,
}

/// A request under way.
struct Flight {
    id: RequestId,
    scope: usize,
    kind: RequestKind,
    /// When it was sent, then when it was answered.
    begun: Mono,
    answered: bool,
    items: u64,
}

struct ListUnderWay {
    scope: usize,
    begun: Mono,
    items: u64,
}

/// Something the log is told at DEBUG, after every lock is released.
pub(crate) enum Note {
    Sent(RequestKind),
    Listed { items: u64, took: Duration },
    WatchEnded { events: u64, lasted: Duration },
}

impl Figures {
    pub(crate) fn metrics(&self) -> &InformerMetrics {
        &self.metrics
    }

    pub(crate) fn sent(&mut self, now: Mono, scope: usize, id: RequestId, request: &Request) -> Option<Note> {
        let kind = request.kind();
        let next_page = matches!(request, Request::List(list) if list.continue_token.is_some());
        if kind != RequestKind::Watch && !next_page {
            self.metrics.reflector.lists += 1;
            self.lists.retain(|list| list.scope != scope);
            self.lists.push(ListUnderWay { scope, begun: now, items: 0 });
        }
        // After a fault of ours nobody has said that the one before is gone.
        self.flights.retain(|flight| flight.scope != scope);
        self.flights.push(Flight { id, scope, kind, begun: now, answered: false, items: 0 });
        (!next_page).then_some(Note::Sent(kind))
    }

    pub(crate) fn received<V>(&mut self, now: Mono, id: RequestId, input: &Input<V>) -> Option<Note> {
        let flight = self.flights.iter_mut().find(|flight| flight.id == id)?;
        let scope = flight.scope;
        match input {
            Input::Started => {
                (flight.begun, flight.answered) = (now, true);
                if flight.kind != RequestKind::List {
                    self.metrics.reflector.watches += 1;
                }
                None
            }
            Input::Items(items) => {
                if let Some(list) = self.lists.iter_mut().find(|list| list.scope == scope) {
                    list.items += items.len() as u64;
                }
                None
            }
            Input::ListEnd(end) => {
                self.end(now, id);
                end.continue_token.is_none().then(|| self.listed(now, scope)).flatten()
            }
            Input::Events(events) => {
                flight.items += events.len() as u64;
                if flight.kind != RequestKind::WatchList {
                    return None;
                }
                let list = self.lists.iter_mut().find(|list| list.scope == scope)?;
                let initial = events.iter().position(ends_initial_events);
                list.items += initial.unwrap_or(events.len()) as u64;
                initial.and_then(|_| self.listed(now, scope))
            }
            Input::Alive => None,
            Input::Ended => self.end(now, id),
            Input::Failed(_) => {
                self.metrics.reflector.failures += 1;
                self.end(now, id)
            }
        }
    }

    /// The machine has abandoned a request.
    pub(crate) fn aborted(&mut self, now: Mono, id: RequestId) -> Option<Note> {
        self.end(now, id)
    }

    pub(crate) fn applied(&mut self, took: Duration) {
        self.metrics.processing_seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn troubled(&mut self, trouble: &Trouble) {
        if matches!(trouble, Trouble::Undecodable { .. } | Trouble::Unreadable { .. }) {
            self.metrics.decode_errors += 1;
        }
    }

    /// A listener is removed: what it counted stays counted.
    pub(crate) fn retired(&mut self, stats: &ListenerStats) {
        self.metrics.listeners.add(&ListenerStats { waiting: 0, ..*stats });
    }

    fn listed(&mut self, now: Mono, scope: usize) -> Option<Note> {
        let position = self.lists.iter().position(|list| list.scope == scope)?;
        let ListUnderWay { begun, items, .. } = self.lists.swap_remove(position);
        let took = now.since(begun);
        self.metrics.reflector.list_seconds.observe(took.as_secs_f64());
        self.metrics.reflector.list_items.observe(items as f64);
        Some(Note::Listed { items, took })
    }

    fn end(&mut self, now: Mono, id: RequestId) -> Option<Note> {
        let position = self.flights.iter().position(|flight| flight.id == id)?;
        let Flight { kind, begun, answered, items, .. } = self.flights.swap_remove(position);
        if kind == RequestKind::List || !answered {
            return None;
        }
        let lasted = now.since(begun);
        let reflector = &mut self.metrics.reflector;
        reflector.watch_seconds.observe(lasted.as_secs_f64());
        reflector.watch_items.observe(items as f64);
        reflector.short_watches += u64::from(lasted < SHORT_WATCH && items == 0);
        Some(Note::WatchEnded { events: items, lasted })
    }
}

fn ends_initial_events<V>(event: &WatchEvent<V>) -> bool {
    matches!(event, WatchEvent::Bookmark { initial_events_end: true, .. })
}

impl Note {
    pub(crate) fn log(&self, informer: &str) {
        match self {
            Self::Sent(request) => {
                tracing::debug!(target: "informer::reflector", informer, %request, "request sent");
            }
            Self::Listed { items, took } => {
                let seconds = took.as_secs_f64();
                tracing::debug!(target: "informer::reflector", informer, items, seconds, "listed");
            }
            Self::WatchEnded { events, lasted } => {
                let seconds = lasted.as_secs_f64();
                tracing::debug!(target: "informer::reflector", informer, events, seconds, "watch ended");
            }
        }
    }
}
