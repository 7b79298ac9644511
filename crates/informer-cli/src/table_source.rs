//! Rows of kinds we do not know, as the server prints them (`meta.k8s.io` Table).

use crate::{
    discovery::Resource,
    errors::{Cause, RequestError},
    fields::*,
    request::{Requester, encode},
};
use serde_json::Value;

/// Asks for a Table; a server that cannot make one answers with plain objects.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// Columns and rows as the server made them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerTable {
    columns: Vec<Column>,
    rows: Vec<ServerRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    header: String,
    /// Shown only in the wide form.
    wide: bool,
}

/// One object's cells and which object it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerRow {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    cells: Vec<String>,
}

impl ServerTable {
    /// Headers in capitals, those of the wide form if asked for.
    pub(crate) fn headers(&self, wide: bool) -> Vec<String> {
        self.columns.iter().filter(|c| wide || !c.wide).map(|c| c.header.to_uppercase()).collect()
    }

    /// The rows in the server's order.
    pub(crate) fn rows(&self) -> &[ServerRow] {
        &self.rows
    }

    /// A row's cells, as many as `headers`.
    pub(crate) fn cells(&self, row: &ServerRow, wide: bool) -> Vec<String> {
        let cells = row.cells.iter().map(String::as_str).chain(std::iter::repeat(""));
        self.columns
            .iter()
            .zip(cells)
            .filter(|(c, _)| wide || !c.wide)
            .map(|(_, cell)| cell.to_owned())
            .collect()
    }
}

/// Fetches the Table of a collection. `query` is an encoded query string, without its `?`; `None` is returned when
/// the server does not make Tables of it.
///
/// # Errors
/// The request failed, or the answer is malformed.
pub(crate) async fn list(
    requester: &Requester,
    resource: &Resource,
    namespace: Option<&str>,
    query: &str,
) -> Result<Option<ServerTable>, RequestError> {
    let path = resource.path(namespace);
    let path = if query.is_empty() { path } else { format!("{path}?{query}") };
    fetch(requester, &path).await
}

/// Fetches the Table of one object, which has one row.
///
/// # Errors
/// As `list`; an object that does not exist is a status 404.
pub(crate) async fn single(
    requester: &Requester,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<ServerTable>, RequestError> {
    fetch(requester, &format!("{}/{}", resource.path(namespace), encode(name))).await
}

async fn fetch(requester: &Requester, path: &str) -> Result<Option<ServerTable>, RequestError> {
    let answer = requester.json(path, TABLE).await?;
    if text(&answer, "kind") != "Table" {
        return Ok(None);
    }
    match parse(&answer) {
        Some(table) => Ok(Some(table)),
        None => {
            let request = format!("GET {}", path.split('?').next().unwrap_or_default());
            Err(RequestError::new(request, Cause::BadAnswer("a Table without columns".to_owned())))
        }
    }
}

/// Reads a Table; `None` if it has no columns. Rows that do not say which object they are keep empty names.
pub(crate) fn parse(answer: &Value) -> Option<ServerTable> {
    let columns: Vec<Column> = crate::fields::list(answer, "columnDefinitions")
        .iter()
        .map(|column| Column { header: text(column, "name").to_owned(), wide: int(column, "priority") > 0 })
        .collect();
    if columns.is_empty() {
        return None;
    }
    let rows = crate::fields::list(answer, "rows")
        .iter()
        .map(|row| {
            let metadata = at(row, "object.metadata");
            ServerRow {
                namespace: text(metadata, "namespace").to_owned(),
                name: text(metadata, "name").to_owned(),
                uid: text(metadata, "uid").to_owned(),
                cells: crate::fields::list(row, "cells").iter().map(cell).collect(),
            }
        })
        .collect();
    Some(ServerTable { columns, rows })
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::scripted;
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::json;

    const LIST_TABLE: &str = include_str!("../testdata/list-table.json");
    const CR_TABLE: &str = include_str!("../testdata/cr-table.json");

    fn widgets() -> Resource {
        let gvk = GroupVersionKind::gvk("demo.example.dev", "v1", "Widget");
        Resource {
            api: ApiResource::from_gvk_with_plural(&gvk, "widgets"),
            singular: "widget".to_owned(),
            short_names: vec![],
            categories: vec![],
            namespaced: true,
            verbs: vec![],
        }
    }

    #[tokio::test]
    async fn a_recorded_table_has_the_servers_headers_and_cells() {
        let (requester, asked) = scripted(|_, accept| {
            assert!(accept.starts_with("application/json;as=Table"));
            (200, CR_TABLE.to_owned())
        });
        let table = list(&requester, &widgets(), Some("default"), "limit=5").await.unwrap().unwrap();
        assert_eq!(table.headers(false), ["NAME", "SIZE"]);
        assert_eq!(table.cells(&table.rows()[0], false), ["a", "3"]);
        assert_eq!(table.rows()[0].namespace, "default");
        single(&requester, &widgets(), Some("default"), "a").await.unwrap().unwrap();
        let path = "/apis/demo.example.dev/v1/namespaces/default/widgets";
        assert_eq!(*asked.lock().unwrap(), [format!("{path}?limit=5"), format!("{path}/a")]);
    }

    #[test]
    fn wide_columns_are_hidden_until_asked_for() {
        let table = parse(&json!({"kind": "Table",
            "columnDefinitions": [{"name": "Name", "priority": 0}, {"name": "Extra", "priority": 1}, {"name": "Age"}],
            "rows": [{"cells": ["a", null, "5s", "too many"]}, {"cells": ["b"]}]}))
        .unwrap();
        assert_eq!(table.headers(false), ["NAME", "AGE"]);
        assert_eq!(table.headers(true), ["NAME", "EXTRA", "AGE"]);
        assert_eq!(table.cells(&table.rows()[0], false), ["a", "5s"]);
        assert_eq!(table.cells(&table.rows()[0], true), ["a", "", "5s"]);
        assert_eq!(table.cells(&table.rows()[1], true), ["b", "", ""]);
    }

    #[test]
    fn our_config_map_columns_are_the_recorded_ones() {
        let answer: Value = serde_json::from_str(LIST_TABLE).unwrap();
        let table = parse(&answer).unwrap();
        assert_eq!(table.headers(true), crate::columns::Kind::ConfigMap.headers(true));
        assert_eq!(table.rows().len(), 5);
        assert_eq!(table.cells(&table.rows()[1], false), ["c2", "2", "4s"]);
    }

    #[tokio::test]
    async fn a_server_without_tables_is_no_error_and_one_without_columns_is() {
        let (plain, _) = scripted(|_, _| (200, json!({"kind": "WidgetList", "items": []}).to_string()));
        assert_eq!(list(&plain, &widgets(), None, "").await, Ok(None));
        let (odd, _) = scripted(|_, _| (200, json!({"kind": "Table"}).to_string()));
        assert!(list(&odd, &widgets(), None, "").await.is_err());
    }
}
