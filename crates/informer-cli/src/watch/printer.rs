//! Notifications as text: table rows with what changed, documents, names or JSON lines.

use crate::{
    args::Format,
    diff,
    output::{LastState, Line, plain, reference, to_json, to_yaml},
    palette::Palette,
    session::{Session, Target},
    table::Table,
    view::View,
};
use informer::{self, Notification, Object};
use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::Value;

/// Prints the notifications of one target.
pub(crate) struct Printer {
    form: Form,
}

enum Form {
    Table { view: Box<View>, table: Table },
    Other(Format),
}

/// What a notification says of one object.
struct Told<'a> {
    object: &'a DynamicObject,
    change: String,
}

impl Printer {
    /// A printer for the target, which may have to ask the server for columns.
    pub(crate) async fn open(
        session: &Session,
        target: &Target,
        format: Option<Format>,
        among_others: bool,
    ) -> Self {
        let form = match format {
            None | Some(Format::Wide) => {
                let view =
                    View::open(&session.requester, target, format == Some(Format::Wide), among_others).await;
                let headers = view.headers().into_iter().chain(["CHANGE".to_owned()]);
                let table = Table::new(headers, Palette::for_stdout(), true);
                Form::Table { view: Box::new(view), table }
            }
            Some(format) => Form::Other(format),
        };
        Self { form }
    }

    /// Whether it prints a table for people.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.form, Form::Table { .. })
    }

    /// The text of a batch. `synced` says whether all of the target's first lists have been told with it: until then
    /// their ends are not.
    pub(crate) async fn print(
        &mut self,
        target: &Target,
        batch: &[Notification<DynamicObject>],
        synced: bool,
        now: Timestamp,
    ) -> String {
        match &mut self.form {
            Form::Table { view, table } => {
                let told: Vec<Told<'_>> = batch.iter().filter_map(|n| tell(target, n)).collect();
                let alive: Vec<&DynamicObject> = batch.iter().filter_map(living).collect();
                view.refresh(target, &alive).await;
                let rows: Vec<Vec<String>> = told
                    .into_iter()
                    .map(|Told { object, change }| {
                        let mut row = view.row(object, now);
                        row.extend(Some(change).filter(|change| !change.is_empty()));
                        row
                    })
                    .collect();
                for notification in batch {
                    if let Notification::Deleted { key, .. } = notification {
                        view.forget(key.namespace(), key.name());
                    }
                }
                table.render(&rows)
            }
            Form::Other(format) => batch.iter().map(|n| document(*format, target, n, synced)).collect(),
        }
    }
}

/// The object of a notification that still exists and was not there from the start.
fn living(notification: &Notification<DynamicObject>) -> Option<&DynamicObject> {
    match notification {
        Notification::Added { object, in_initial_list: false } => Some(&object.value),
        Notification::Updated { new, .. } => Some(&new.value),
        _ => None,
    }
}

/// The row's object and what happened to it; `None` where there is nothing to see.
fn tell<'a>(target: &Target, notification: &'a Notification<DynamicObject>) -> Option<Told<'a>> {
    let (object, change) = match notification {
        Notification::Added { object, in_initial_list } => {
            (object, if *in_initial_list { String::new() } else { "added".to_owned() })
        }
        Notification::Updated { old, new } => (new, diff::phrase(target.kind, &old.value, &new.value)?),
        Notification::Deleted { last_state, .. } => {
            let change = match last_state {
                informer::LastState::Known(_) => "deleted",
                _ => "deleted, unseen",
            };
            (last_state.object()?, change.to_owned())
        }
        _ => return None,
    };
    Some(Told { object: &object.value, change })
}

fn document(
    format: Format,
    target: &Target,
    notification: &Notification<DynamicObject>,
    synced: bool,
) -> String {
    if format == Format::Jsonl {
        return json_line(target, notification, synced).unwrap_or_default();
    }
    let object = match notification {
        Notification::Added { object, .. } | Notification::Updated { new: object, .. } => object,
        Notification::Deleted { last_state, .. } => match last_state.object() {
            Some(object) => object,
            None => return String::new(),
        },
        _ => return String::new(),
    };
    match format {
        Format::Name => format!("{}\n", reference(&target.resource, object.key.name())),
        Format::Yaml => format!("---\n{}", to_yaml(&json(target, object))),
        _ => to_json(&json(target, object)),
    }
}

fn json(target: &Target, object: &Object<DynamicObject>) -> Value {
    plain(&object.value, &target.resource)
}

fn json_line(target: &Target, notification: &Notification<DynamicObject>, synced: bool) -> Option<String> {
    let name = target.name();
    Some(match notification {
        Notification::Added { object, in_initial_list } => {
            Line::added(&name, &json(target, object), *in_initial_list).to_text()
        }
        Notification::Updated { old, new } => {
            Line::updated(&name, &json(target, old), &json(target, new)).to_text()
        }
        Notification::Deleted { last_state, .. } => {
            let state = match last_state {
                informer::LastState::Known(_) => LastState::Known,
                _ => LastState::Stale,
            };
            Line::deleted(&name, &json(target, last_state.object()?), state).to_text()
        }
        Notification::Synced { version } if synced => Line::synced(&name, &version.to_string()).to_text(),
        Notification::Relisted { version } => Line::relisted(&name, &version.to_string()).to_text(),
        _ => return None,
    })
}
