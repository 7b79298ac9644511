//! An event as it is recorded, and what makes two of them the same.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

use informer_core::{EventFacts, EventType};

use super::object_reference::ObjectReference;

/// Who tells: the controller, and which of its instances.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Source {
    pub(super) controller: String,
    pub(super) instance: String,
}

/// An event to record, with what [`EventRecorder::event`](super::EventRecorder::event) has no room for.
///
/// ```
/// use informer::{EventRecorder, EventType, NewEvent};
/// use k8s_openapi::api::core::v1::Pod;
///
/// # let mut pod = Pod::default();
/// # pod.metadata.name = Some("web-0".into());
/// # let node = pod.clone();
/// let (recorder, recorded) = EventRecorder::for_tests();
/// let event = NewEvent::new(&pod, EventType::Normal, "Scheduled", "Binding", "assigned to a node");
/// recorder.record(event.related(&node).annotation("example.com/attempt", "1"));
/// assert_eq!(recorded.take()[0].annotations["example.com/attempt"], "1");
/// ```
#[derive(Clone)]
#[must_use]
pub struct NewEvent {
    pub(super) regarding: ObjectReference,
    pub(super) related: Option<ObjectReference>,
    pub(super) event_type: EventType,
    pub(super) reason: String,
    pub(super) action: String,
    pub(super) note: String,
    pub(super) annotations: BTreeMap<String, String>,
}

impl NewEvent {
    /// An event about an object: why (one word), what was done (one word), and a sentence for people.
    pub fn new(
        regarding: impl Into<ObjectReference>,
        event_type: EventType,
        reason: impl Into<String>,
        action: impl Into<String>,
        note: impl Into<String>,
    ) -> Self {
        Self {
            regarding: regarding.into(),
            related: None,
            event_type,
            reason: reason.into(),
            action: action.into(),
            note: note.into(),
            annotations: BTreeMap::new(),
        }
    }

    /// A second object that has to do with it.
    pub fn related(mut self, object: impl Into<ObjectReference>) -> Self {
        self.related = Some(object.into());
        self
    }

    /// An annotation of the Event object. Of events that are counted as one, the first one's are kept.
    #[doc(alias = "AnnotatedEventf")]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }
}

/// An event that was recorded, as sinks and tests see it.
///
/// Its `Debug` text has neither the note nor the values of annotations.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// The name of the Event object, if it becomes one of its own.
    pub name: String,
    /// The namespace of the Event object: the object's, or `default` for cluster-scoped ones.
    pub namespace: String,
    /// When it was recorded.
    pub time: SystemTime,
    /// The object it is about.
    pub regarding: ObjectReference,
    /// The other object.
    pub related: Option<ObjectReference>,
    /// Good or bad news.
    pub event_type: EventType,
    /// Why, in one word.
    pub reason: String,
    /// What was done, in one word.
    pub action: String,
    /// What happened, for people; at most 1024 bytes.
    pub note: String,
    /// Annotations of the Event object.
    pub annotations: BTreeMap<String, String>,
    pub(super) source: Arc<Source>,
}

impl RecordedEvent {
    /// The controller that tells of it.
    pub fn controller(&self) -> &str {
        &self.source.controller
    }

    /// The instance of the controller that tells of it.
    pub fn instance(&self) -> &str {
        &self.source.instance
    }

    pub(super) fn facts<'a>(&'a self, subject: &'a Subject) -> EventFacts<'a, Subject> {
        EventFacts {
            object: subject,
            field_path: &self.regarding.field_path,
            event_type: self.event_type,
            reason: &self.reason,
            message: &self.note,
        }
    }
}

impl fmt::Debug for RecordedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedEvent")
            .field("name", &self.name)
            .field("regarding", &self.regarding)
            .field("related", &self.related)
            .field("event_type", &self.event_type)
            .field("reason", &self.reason)
            .field("action", &self.action)
            .field("note_bytes", &self.note.len())
            .finish_non_exhaustive()
    }
}

/// Who tells, of which object: events of the same are counted against one burst.
#[derive(Clone)]
pub(super) struct Subject(pub(super) Arc<RecordedEvent>);

impl Subject {
    fn key(&self) -> (&Source, [&str; 5]) {
        (&self.0.source, self.0.regarding.identity())
    }
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Subject {}

impl Hash for Subject {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// What makes events isomorphic: everything but the note, the time and the versions of the objects.
pub(super) struct SeriesKey(pub(super) Arc<RecordedEvent>);

/// The parts of a reference that count.
type ReferenceKey<'a> = ([&'a str; 5], &'a str);

impl SeriesKey {
    fn key(&self) -> (&Source, EventType, &str, &str, ReferenceKey<'_>, Option<ReferenceKey<'_>>) {
        let event = &*self.0;
        (
            &event.source,
            event.event_type,
            &event.reason,
            &event.action,
            reference_key(&event.regarding),
            event.related.as_ref().map(reference_key),
        )
    }
}

fn reference_key(reference: &ObjectReference) -> ReferenceKey<'_> {
    (reference.identity(), &reference.field_path)
}

impl PartialEq for SeriesKey {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for SeriesKey {}

impl Hash for SeriesKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}
