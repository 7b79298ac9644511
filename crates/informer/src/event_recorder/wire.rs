//! Requests: an event in either form, created or patched.

use std::time::{Duration, SystemTime};

use informer_core::{EventWrite, EventWriteKind};
use k8s_openapi::api::core::v1::{Event as CoreEvent, EventSource};
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::core::Request;
use kube::core::params::{Patch, PatchParams, PostParams};
use serde_json::json;

use super::SharedEvent;
use super::event::RecordedEvent;
use super::limits::{MAX_NOTE_BYTES, cut};
use super::sink::Form;

const COMBINED: &str = "(combined from similar events): ";

/// Why no request can be made of an event; it never can.
pub(super) type Unwritable = Box<dyn std::error::Error + Send + Sync>;

/// The request of a write.
pub(super) fn request(
    form: Form,
    write: &EventWrite<SharedEvent>,
) -> Result<http::Request<Vec<u8>>, Unwritable> {
    let namespace = Some(&*write.first.namespace);
    let path = match form {
        Form::V1 => Event::url_path(&(), namespace),
        Form::CoreV1 => CoreEvent::url_path(&(), namespace),
    };
    let target = Request::new(path);
    Ok(match write.kind {
        EventWriteKind::Create => target.create(&PostParams::default(), body(form, write)?)?,
        EventWriteKind::Patch => {
            let patch = Patch::Merge(patch(form, write));
            target.patch(&write.first.name, &PatchParams::default(), &patch)?
        }
    })
}

fn body(form: Form, write: &EventWrite<SharedEvent>) -> serde_json::Result<Vec<u8>> {
    match form {
        Form::V1 => serde_json::to_vec(&v1(write)),
        Form::CoreV1 => serde_json::to_vec(&core_v1(write)),
    }
}

/// A server takes no other change of an event.
fn patch(form: Form, write: &EventWrite<SharedEvent>) -> serde_json::Value {
    match form {
        Form::V1 => json!({ "series": series(write) }),
        Form::CoreV1 => json!({
            "count": api_count(write),
            "lastTimestamp": Time(timestamp(write.latest.time)),
            "message": message(write),
        }),
    }
}

fn v1(write: &EventWrite<SharedEvent>) -> Event {
    let event = &write.first;
    Event {
        metadata: metadata(event),
        event_time: Some(MicroTime(timestamp(event.time))),
        reporting_controller: Some(event.source.controller.clone()),
        reporting_instance: Some(event.source.instance.clone()),
        regarding: Some(event.regarding.to_api()),
        related: event.related.as_ref().map(|related| related.to_api()),
        type_: Some(event.event_type.as_str().to_owned()),
        reason: Some(event.reason.clone()),
        action: Some(event.action.clone()),
        note: Some(event.note.clone()),
        // A server refuses a series of one.
        series: (write.count > 1).then(|| series(write)),
        ..Event::default()
    }
}

fn series(write: &EventWrite<SharedEvent>) -> EventSeries {
    EventSeries { count: api_count(write), last_observed_time: MicroTime(timestamp(write.latest.time)) }
}

fn core_v1(write: &EventWrite<SharedEvent>) -> CoreEvent {
    let event = &write.first;
    CoreEvent {
        metadata: metadata(event),
        involved_object: event.regarding.to_api(),
        related: event.related.as_ref().map(|related| related.to_api()),
        type_: Some(event.event_type.as_str().to_owned()),
        reason: Some(event.reason.clone()),
        action: Some(event.action.clone()),
        message: Some(message(write)),
        count: Some(api_count(write)),
        first_timestamp: Some(Time(timestamp(event.time))),
        last_timestamp: Some(Time(timestamp(write.latest.time))),
        source: Some(EventSource { component: Some(event.source.controller.clone()), host: None }),
        reporting_component: Some(event.source.controller.clone()),
        reporting_instance: Some(event.source.instance.clone()),
        ..CoreEvent::default()
    }
}

fn metadata(event: &RecordedEvent) -> ObjectMeta {
    ObjectMeta {
        name: Some(event.name.clone()),
        namespace: Some(event.namespace.clone()),
        annotations: (!event.annotations.is_empty()).then(|| event.annotations.clone()),
        ..ObjectMeta::default()
    }
}

fn message(write: &EventWrite<SharedEvent>) -> String {
    if !write.combined {
        return write.latest.note.clone();
    }
    let mut message = format!("{COMBINED}{}", write.latest.note);
    cut(&mut message, MAX_NOTE_BYTES);
    message
}

fn api_count(write: &EventWrite<SharedEvent>) -> i32 {
    i32::try_from(write.count).unwrap_or(i32::MAX)
}

/// A time that no calendar has becomes the beginning of the epoch.
fn timestamp(time: SystemTime) -> Timestamp {
    let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let micros = i64::try_from(since_epoch.as_micros()).unwrap_or(0);
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH)
}
