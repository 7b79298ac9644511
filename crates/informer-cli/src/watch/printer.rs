//! Notifications as text: table rows with what changed, documents, names or JSON lines.

use crate::{
    args::Format,
    columns::Kind,
    diff,
    output::{LastState, Line, plain, reference, to_json, to_yaml},
    screen::Screen,
    session::{Session, Target},
    table::{LEAST_NOTE, Table, place_notes},
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
    Table { view: Box<View>, table: Table, screen: Screen, seen: bool },
    Other(Format),
}

/// What a notification says of one object.
struct Told<'a> {
    object: &'a DynamicObject,
    change: Change<'a>,
}

enum Change<'a> {
    /// It was there from the start.
    None,
    Word(&'static str),
    From(&'a DynamicObject),
}

impl Printer {
    /// A printer for the target, which may have to ask the server for columns.
    pub(crate) async fn open(
        session: &Session,
        target: &Target,
        format: Option<Format>,
        among_others: bool,
        screen: Screen,
    ) -> Self {
        let form = match format {
            None | Some(Format::Wide) => {
                let view =
                    View::open(&session.requester, target, format == Some(Format::Wide), among_others).await;
                let table = Table::new(view.headers(), screen.palette, true);
                Form::Table { view: Box::new(view), table, screen, seen: false }
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
    /// their ends are not. `behind_others` says whether other targets have been printed before.
    pub(crate) async fn print(
        &mut self,
        target: &Target,
        batch: &[Notification<DynamicObject>],
        synced: bool,
        behind_others: bool,
        now: Timestamp,
    ) -> String {
        match &mut self.form {
            Form::Table { view, table, screen, seen } => {
                let told: Vec<Told<'_>> =
                    batch.iter().filter_map(tell).filter(|told| told.is_worth_a_row(target)).collect();
                let alive: Vec<&DynamicObject> = batch.iter().filter_map(living).collect();
                view.refresh(target, &alive).await;
                let rows: Vec<Vec<String>> = told.iter().map(|told| view.row(told.object, now)).collect();
                let measured = table.measure(&rows);
                let first = !*seen && !rows.is_empty();
                if first {
                    *seen = true;
                    let likely = target.kind.map_or(&[("AGE", "9m59s")][..], Kind::likely_cells);
                    table.settle(likely, screen.width());
                }
                let (room, place) = place_notes(table.width(), screen.width());
                let notes: Vec<String> =
                    told.iter().map(|told| told.note(target, room).unwrap_or_default()).collect();
                for notification in batch {
                    if let Notification::Deleted { key, .. } = notification {
                        view.forget(key.namespace(), key.name());
                    }
                }
                // As `get` does between two tables.
                let blank = if first && behind_others { "\n" } else { "" };
                format!("{blank}{}", table.print(&measured, &notes, place))
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
fn tell(notification: &Notification<DynamicObject>) -> Option<Told<'_>> {
    let (object, change) = match notification {
        Notification::Added { object, in_initial_list: true } => (object, Change::None),
        Notification::Added { object, .. } => (object, Change::Word("added")),
        Notification::Updated { old, new } => (new, Change::From(&old.value)),
        Notification::Deleted { last_state, .. } => {
            let word = match last_state {
                informer::LastState::Known(_) => "deleted",
                _ => "deleted, unseen",
            };
            (last_state.object()?, Change::Word(word))
        }
        _ => return None,
    };
    Some(Told { object: &object.value, change })
}

impl Told<'_> {
    /// Whether there is anything to see: not where only bookkeeping changed.
    fn is_worth_a_row(&self, target: &Target) -> bool {
        !matches!(self.change, Change::From(_)) || self.note(target, LEAST_NOTE).is_some()
    }

    fn note(&self, target: &Target, room: usize) -> Option<String> {
        match self.change {
            Change::None => None,
            Change::Word(word) => Some(word.to_owned()),
            Change::From(old) => diff::phrase(target.kind, old, self.object, room),
        }
    }
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
