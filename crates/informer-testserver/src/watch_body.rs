//! The body of a watch: it reads the table's history behind its own cursor, so that a slow reader costs nothing.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::body::BodyError;
use crate::faults::Fault;
use crate::representation::Representation;
use crate::selector::Selector;
use crate::server::Inner;
use crate::status::ApiError;
use crate::storage::{Change, Event, State, Stored, namespace_bounds};
use crate::watchers::Push;

/// What a watch is asked to send.
pub(crate) struct WatchPlan {
    pub(crate) table: u32,
    pub(crate) namespace: String,
    pub(crate) selector: Selector,
    pub(crate) representation: Representation,
    /// Objects sent as ADDED first.
    pub(crate) initial: Vec<Arc<Stored>>,
    /// Announce the end of the initial objects, at this version.
    pub(crate) initial_end: Option<u64>,
    /// Events after this version follow.
    pub(crate) after: u64,
    pub(crate) bookmarks: bool,
    /// The stream is just this error.
    pub(crate) error: Option<ApiError>,
    pub(crate) timeout: Duration,
}

/// See the module's sentence.
pub(crate) struct WatchBody {
    inner: Arc<Inner>,
    id: u64,
    plan: WatchPlan,
    initial: std::vec::IntoIter<Arc<Stored>>,
    cursor: u64,
    faults: Vec<Fault>,
    injected: bool,
    events: usize,
    bookmark: Pin<Box<Sleep>>,
    last_bookmark: Option<Pin<Box<Sleep>>>,
    deadline: Pin<Box<Sleep>>,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Open,
    Stalled,
    Reset,
    Ended,
}

/// A piece of a stream is cut when it has grown to this size.
const PIECE_BYTES: usize = 64 << 10;
/// The last bookmark comes so long before the stream's end, as on a real server.
const LAST_BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// So many events are taken under the lock at a time.
const EVENTS_PER_LOCK: usize = 16;

/// An event to be written: type and object.
type Line = (&'static str, Arc<Stored>);

impl WatchBody {
    /// Registers the watch; the caller holds the lock, so that no event falls between its plan and this.
    pub(crate) fn new(
        inner: &Arc<Inner>,
        state: &mut State,
        mut plan: WatchPlan,
        faults: Vec<Fault>,
    ) -> Self {
        state.next_watcher += 1;
        let id = state.next_watcher;
        state.table(plan.table).watchers.add(id);
        let start = Instant::now();
        let last = plan.timeout.checked_sub(LAST_BOOKMARK_BEFORE_END).filter(|at| !at.is_zero());
        Self {
            inner: Arc::clone(inner),
            id,
            initial: std::mem::take(&mut plan.initial).into_iter(),
            cursor: plan.after,
            faults,
            injected: false,
            events: 0,
            bookmark: Box::pin(sleep_until(start + inner.bookmark_period())),
            last_bookmark: last.map(|at| Box::pin(sleep_until(start + at))),
            deadline: Box::pin(sleep_until(start + plan.timeout)),
            phase: Phase::Open,
            plan,
        }
    }

    /// The next piece of the stream; `single`: one event a piece. `Ok(None)` is the end.
    pub(crate) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        single: bool,
    ) -> Poll<Result<Option<Bytes>, BodyError>> {
        let limit = if single { 1 } else { PIECE_BYTES };
        let mut out = BytesMut::new();
        while self.phase == Phase::Open && out.len() < limit {
            let before = out.len();
            self.step(context, single, &mut out);
            if out.len() == before {
                break;
            }
        }
        match self.phase {
            _ if !out.is_empty() => Poll::Ready(Ok(Some(out.freeze()))),
            Phase::Ended => Poll::Ready(Ok(None)),
            Phase::Reset => {
                self.phase = Phase::Ended;
                Poll::Ready(Err(BodyError))
            }
            Phase::Open | Phase::Stalled => Poll::Pending,
        }
    }

    /// Writes what comes next; writing nothing means that there is nothing now, and the waker is registered.
    fn step(&mut self, context: &mut Context<'_>, single: bool, out: &mut BytesMut) {
        let before = out.len();
        if let Some(error) = self.plan.error.take() {
            write_error(&error, out);
            self.phase = Phase::Ended;
            return;
        }
        self.apply_faults(out);
        if out.len() > before || self.phase != Phase::Open {
            return;
        }
        if self.plan.initial_end.is_some() && self.has(|fault| matches!(fault, Fault::InitialEventsEndFirst))
        {
            return self.end_initial(out);
        }
        if let Some(object) = self.initial.next() {
            return self.write_line(("ADDED", object), out);
        }
        if self.plan.initial_end.is_some() {
            self.end_initial(out);
            if out.len() > before {
                return;
            }
        }
        self.read_table(context, single, out);
        if out.len() == before && self.phase == Phase::Open {
            self.poll_timers(context, out);
        }
    }

    fn has(&self, test: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(test)
    }

    fn apply_faults(&mut self, out: &mut BytesMut) {
        for fault in &self.faults {
            match fault {
                Fault::ErrorEvent { after_events, error } if self.events >= *after_events => {
                    write_error(error, out);
                    self.phase = Phase::Ended;
                    return;
                }
                Fault::InjectBytes { after_events, bytes }
                    if self.events >= *after_events && !self.injected =>
                {
                    out.extend_from_slice(bytes);
                    self.injected = true;
                    return;
                }
                _ => {}
            }
        }
    }

    fn end_initial(&mut self, out: &mut BytesMut) {
        let Some(version) = self.plan.initial_end.take() else { return };
        if self.has(|fault| matches!(fault, Fault::NoInitialEventsEnd)) {
            return;
        }
        let annotated = !self.has(|fault| matches!(fault, Fault::InitialEventsEndWithoutAnnotation));
        self.write_bookmark(version, annotated, out);
    }

    fn read_table(&mut self, context: &mut Context<'_>, single: bool, out: &mut BytesMut) {
        let inner = Arc::clone(&self.inner);
        let mut lines: Vec<Line> = Vec::new();
        let (push, version, gone) = {
            let mut state = inner.state();
            let version = state.version;
            let table = state.table(self.plan.table);
            if self.cursor < table.trimmed {
                // Too slow for the history: a real server hangs up, and the next watch is told 410.
                self.phase = Phase::Ended;
                return;
            }
            let limit = if single { 1 } else { EVENTS_PER_LOCK };
            for event in table.events_after(self.cursor) {
                if lines.len() == limit {
                    break;
                }
                self.cursor = event.version;
                lines.extend(self.plan.line(event));
            }
            let push = if lines.is_empty() { table.watchers.next_push(self.id) } else { None };
            if lines.is_empty() && push.is_none() {
                self.cursor = self.cursor.max(version);
                table.watchers.wait(self.id, context.waker());
            }
            (push, version, table.gone)
        };
        let drained = lines.is_empty();
        for line in lines {
            self.write_line(line, out);
        }
        if let Some(push) = push {
            self.take_push(push, version, out);
        } else if drained && gone {
            if self.plan.bookmarks {
                self.write_bookmark(version, false, out);
            }
            self.phase = Phase::Ended;
        }
    }

    fn take_push(&mut self, push: Push, version: u64, out: &mut BytesMut) {
        match push {
            Push::Raw(bytes) => out.extend_from_slice(&bytes),
            Push::Bookmark => self.write_bookmark(version, false, out),
            Push::End => self.phase = Phase::Ended,
            Push::Reset => self.phase = Phase::Reset,
            Push::Stall => self.phase = Phase::Stalled,
        }
    }

    fn poll_timers(&mut self, context: &mut Context<'_>, out: &mut BytesMut) {
        if self.deadline.as_mut().poll(context).is_ready() {
            self.phase = Phase::Ended;
            return;
        }
        let mut due = false;
        if let Some(timer) = &mut self.last_bookmark
            && timer.as_mut().poll(context).is_ready()
        {
            self.last_bookmark = None;
            due = true;
        }
        while self.bookmark.as_mut().poll(context).is_ready() {
            self.bookmark.as_mut().reset(Instant::now() + self.inner.bookmark_period());
            due = true;
        }
        if due && self.plan.bookmarks && self.inner.bookmarks_enabled() {
            // Everything up to the cursor was sent. A watch from the future has not reached any version yet.
            let reached = self.cursor <= self.inner.state().version;
            if reached {
                self.write_bookmark(self.cursor, false, out);
            }
        }
    }

    fn write_bookmark(&mut self, version: u64, initial_end: bool, out: &mut BytesMut) {
        if self.has(|fault| matches!(fault, Fault::NoBookmarks)) {
            return;
        }
        out.extend_from_slice(br#"{"type":"BOOKMARK","object":"#);
        self.plan.representation.write_bookmark(version, initial_end, out);
        out.extend_from_slice(b"}\n");
    }

    fn write_line(&mut self, (kind, object): Line, out: &mut BytesMut) {
        let copies = if self.has(|fault| matches!(fault, Fault::DuplicateEvents)) { 2 } else { 1 };
        for _ in 0..copies {
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(kind.as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            self.plan.representation.write_object(&object, self.events == 0, out);
            out.extend_from_slice(b"}\n");
        }
        self.events += 1;
    }
}

impl WatchPlan {
    /// What a change looks like through namespace and selector.
    fn line(&self, event: &Event) -> Option<Line> {
        let (low, high) = namespace_bounds(&self.namespace);
        let key = &*event.object.key;
        if key < low.as_str() || high.is_some_and(|high| key >= high.as_str()) {
            return None;
        }
        let now = event.change != Change::Deleted && self.selector.matches(&event.object);
        let before = event.previous.as_ref().is_some_and(|previous| self.selector.matches(previous));
        match (before, now, event.change, &event.previous) {
            (false, false, ..) => None,
            (false, true, ..) => Some(("ADDED", Arc::clone(&event.object))),
            (true, true, ..) => Some(("MODIFIED", Arc::clone(&event.object))),
            // It left the selection: the old object, at the version of the change.
            (true, false, Change::Modified, Some(previous)) => {
                Some(("DELETED", Arc::new(previous.at_version(event.version))))
            }
            (true, false, ..) => Some(("DELETED", Arc::clone(&event.object))),
        }
    }
}

fn write_error(error: &ApiError, out: &mut BytesMut) {
    out.extend_from_slice(br#"{"type":"ERROR","object":"#);
    out.extend_from_slice(&error.to_json());
    out.extend_from_slice(b"}\n");
}

impl Drop for WatchBody {
    fn drop(&mut self) {
        let mut state = self.inner.state();
        let table = state.table(self.plan.table);
        table.watchers.remove(self.id);
        if table.gone && table.watchers.count() == 0 {
            state.tables.remove(&self.plan.table);
        }
    }
}

impl fmt::Debug for WatchBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WatchBody")
            .field("id", &self.id)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
