//! Where events go.

use std::fmt;
use std::sync::Arc;

use informer_core::EventType;
use kube::Client;

use super::event::RecordedEvent;

/// Where a recorder's events go: an API server, in either form, a log, or a function.
///
/// Each sink has a queue and a task of its own, so that one that is slow or fails does not hold up the others.
#[derive(Clone)]
pub struct EventSink {
    pub(super) name: String,
    pub(super) kind: SinkKind,
}

#[derive(Clone)]
pub(super) enum SinkKind {
    Api(Client, Form),
    Observer(Arc<dyn Fn(&RecordedEvent) + Send + Sync>),
}

/// The two forms that the API has for one thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    V1,
    CoreV1,
}

impl EventSink {
    /// To an API server, as events.k8s.io/v1: isomorphic events become series.
    #[doc(alias = "StartRecordingToSink")]
    pub fn v1(client: Client) -> Self {
        Self { name: "events.k8s.io/v1".into(), kind: SinkKind::Api(client, Form::V1) }
    }

    /// To an API server, as core/v1: identical events are counted, similar ones combined, too many dropped.
    #[doc(alias = "StartRecordingToSink")]
    pub fn core_v1(client: Client) -> Self {
        Self { name: "core/v1".into(), kind: SinkKind::Api(client, Form::CoreV1) }
    }

    /// To the log, notes included: Normal events at `info`, Warnings at `warn`.
    #[doc(alias = "StartStructuredLogging")]
    #[doc(alias = "StartLogging")]
    pub fn tracing() -> Self {
        Self { name: "tracing".into(), ..Self::observer("", log) }
    }

    /// To a function, each event as it was recorded. It is called on a task of its own, and should not block the thread for
    /// long. Panics are caught and counted.
    #[doc(alias = "StartEventWatcher")]
    pub fn observer(
        name: impl Into<String>,
        observe: impl Fn(&RecordedEvent) + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), kind: SinkKind::Observer(Arc::new(observe)) }
    }
}

impl fmt::Debug for EventSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSink").field("name", &self.name).finish_non_exhaustive()
    }
}

fn log(event: &RecordedEvent) {
    let RecordedEvent { regarding, reason, action, note, .. } = event;
    let controller = event.controller();
    match event.event_type {
        EventType::Normal => {
            tracing::info!(target: "informer::event_recorder", %regarding, reason, action, controller, "{note}")
        }
        EventType::Warning => {
            tracing::warn!(target: "informer::event_recorder", %regarding, reason, action, controller, "{note}")
        }
    }
}
