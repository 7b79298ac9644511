//! Tables: what `kubectl get` shows, one row an object.

mod columns;
mod path;

use bytes::{BufMut, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::encode::{human_age, quoted};
use crate::registry::Resource;
use crate::representation::write_partial;
use crate::server::Clock;
use crate::storage::Stored;

/// One column: its definition, and how a cell is made.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: u32,
    pub(crate) cell: Cell,
}

#[derive(Debug)]
pub(crate) enum Cell {
    /// A column of a built-in kind.
    Function(fn(&Value, Timestamp) -> Value),
    /// A column of a custom resource: the path, and dates shown as ages.
    Path(String),
}

/// The columns of a request.
#[derive(Debug)]
pub(crate) struct TableShape {
    columns: Vec<Column>,
    include: Include,
    prefix: String,
    builtin: bool,
    /// Ages are those of the moment a row is written: a watch lives long.
    clock: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

impl TableShape {
    pub(crate) fn new(resource: &Resource, include: &str, clock: Clock) -> Self {
        let include = match include {
            "None" => Include::Nothing,
            "Object" => Include::Object,
            _ => Include::Metadata,
        };
        Self {
            columns: columns::columns(resource),
            include,
            prefix: resource.object_prefix(),
            builtin: resource.builtin,
            clock,
        }
    }

    /// Opens a table with its columns, up to the rows.
    pub(crate) fn head(&self, metadata: &str) -> String {
        self.open(metadata, true)
    }

    fn open(&self, metadata: &str, with_columns: bool) -> String {
        let definitions = if with_columns { self.definitions() } else { "null".into() };
        format!(
            "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{metadata},\"columnDefinitions\":{definitions},\"rows\":["
        )
    }

    fn definitions(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| {
                format!(
                    "{{\"name\":{},\"type\":{},\"format\":{},\"description\":{},\"priority\":{}}}",
                    quoted(&column.name),
                    quoted(&column.kind),
                    quoted(&column.format),
                    quoted(&column.description),
                    column.priority
                )
            })
            .collect();
        format!("[{}]", columns.join(","))
    }

    pub(crate) fn write_row(&self, object: &Stored, out: &mut BytesMut) {
        let value = object.encoded.parse();
        let now = self.clock.now();
        let cells: Vec<Value> = self
            .columns
            .iter()
            .map(|column| match &column.cell {
                Cell::Function(function) => function(&value, now),
                Cell::Path(path) => path::cell(&value, path, &column.kind, now),
            })
            .collect();
        out.put_slice(format!("{{\"cells\":{}", Value::Array(cells)).as_bytes());
        out.put_slice(b",\"object\":");
        match self.include {
            Include::Nothing => out.put_slice(b"null"),
            Include::Metadata => write_partial(object, self.builtin, out),
            Include::Object => object.encoded.write(&self.prefix, out),
        }
        out.put_slice(b"}");
    }

    /// A whole table with one row; only the first of a stream names its columns.
    pub(crate) fn write_single(&self, object: &Stored, first: bool, out: &mut BytesMut) {
        let metadata = format!("{{\"resourceVersion\":\"{}\"}}", object.version);
        out.put_slice(self.open(&metadata, first).as_bytes());
        self.write_row(object, out);
        out.put_slice(b"]}");
    }

    /// A table with one empty row that carries the bookmark's metadata.
    pub(crate) fn write_bookmark(&self, ordered_metadata: &str, version: &str, out: &mut BytesMut) {
        let cells: Vec<Value> = self.columns.iter().map(|_| json!("")).collect();
        out.put_slice(self.open(&format!("{{{version}}}"), false).as_bytes());
        let row = format!(
            "{{\"cells\":{},\"object\":{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",{ordered_metadata}}}]}}",
            Value::Array(cells)
        );
        out.put_slice(row.as_bytes());
    }
}

/// The age of a time, as kubectl shows it; `<unknown>` without one.
pub(crate) fn age(time: &Value, now: Timestamp) -> Value {
    let then = time.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    then.map_or_else(|| "<unknown>".into(), |then| human_age(now.as_second() - then.as_second()).into())
}
