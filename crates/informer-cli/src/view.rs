//! The rows of one resource: our own columns, the server's, or name and age.

use crate::{
    age,
    columns::{Kind, created},
    request::{Requester, encode},
    session::Target,
    table_source::{self, ServerTable},
};
use jiff::Timestamp;
use kube::core::DynamicObject;
use std::collections::BTreeMap;

/// Changed objects up to this number are asked for one by one, more of them by listing everything again.
const SINGLE_REQUESTS: usize = 4;

/// How the objects of one target become rows.
pub(crate) struct View {
    source: Source,
    wide: bool,
    namespaces: bool,
    /// `pod/` before each name, when several resources are shown together.
    prefix: String,
}

enum Source {
    Own(Kind),
    Server(ServerCells),
    Plain,
}

struct ServerCells {
    requester: Requester,
    headers: Vec<String>,
    /// The cells of each object by namespace and name, as the server last printed them.
    cells: BTreeMap<(String, String), Vec<String>>,
}

impl View {
    /// A view of the target. For kinds without columns of our own it asks the server for a Table; when that fails, rows
    /// have name and age, and the failure is only logged: the objects themselves do not depend on it.
    pub(crate) async fn open(requester: &Requester, target: &Target, wide: bool, among_others: bool) -> Self {
        let source = match target.kind {
            Some(kind) => Source::Own(kind),
            None => match fetch(requester, target).await {
                Some(table) => {
                    let mut cells = ServerCells {
                        requester: requester.clone(),
                        headers: table.headers(wide),
                        cells: BTreeMap::new(),
                    };
                    cells.take(&table, wide);
                    Source::Server(cells)
                }
                None => Source::Plain,
            },
        };
        let namespaces = target.resource.namespaced && target.namespace.is_none();
        let prefix =
            if among_others { crate::output::reference(&target.resource, "") } else { String::new() };
        Self { source, wide, namespaces, prefix }
    }

    /// The headers of all rows.
    pub(crate) fn headers(&self) -> Vec<String> {
        let own: Vec<String> = match &self.source {
            Source::Own(kind) => kind.headers(self.wide).into_iter().map(str::to_owned).collect(),
            Source::Server(cells) => cells.headers.clone(),
            Source::Plain => vec!["NAME".to_owned(), "AGE".to_owned()],
        };
        let namespace = self.namespaces.then(|| "NAMESPACE".to_owned());
        namespace.into_iter().chain(own).collect()
    }

    /// Learns the server's cells of these objects anew. Does nothing for our own columns.
    pub(crate) async fn refresh(&mut self, target: &Target, objects: &[&DynamicObject]) {
        let Source::Server(cells) = &mut self.source else {
            return;
        };
        if objects.len() > SINGLE_REQUESTS {
            if let Some(table) = fetch(&cells.requester, target).await {
                cells.take(&table, self.wide);
            }
            return;
        }
        for object in objects {
            let (namespace, name) = key(object);
            let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
            match table_source::single(&cells.requester, &target.resource, namespace, &name).await {
                Ok(Some(table)) => cells.take(&table, self.wide),
                // Gone already, or not to be had: the cells known before will do.
                Ok(None) => {}
                Err(error) => tracing::debug!("{error}"),
            }
        }
    }

    /// The row of one object, as long as `headers`.
    pub(crate) fn row(&self, object: &DynamicObject, now: Timestamp) -> Vec<String> {
        let (namespace, name) = key(object);
        let mut cells = match &self.source {
            Source::Own(kind) => kind.row(object, now, self.wide),
            Source::Server(known) => match known.cells.get(&(namespace.clone(), name.clone())) {
                Some(cells) => cells.clone(),
                None => known
                    .headers
                    .iter()
                    .map(|h| if h == "NAME" { name.clone() } else { String::new() })
                    .collect(),
            },
            Source::Plain => vec![name, age::since(created(object), now)],
        };
        if !self.prefix.is_empty()
            && let Some(at) =
                self.headers().iter().skip(usize::from(self.namespaces)).position(|h| h == "NAME")
            && let Some(cell) = cells.get_mut(at)
        {
            cell.insert_str(0, &self.prefix);
        }
        if self.namespaces {
            cells.insert(0, namespace);
        }
        cells
    }

    /// Forgets a deleted object.
    pub(crate) fn forget(&mut self, namespace: &str, name: &str) {
        if let Source::Server(cells) = &mut self.source {
            cells.cells.remove(&(namespace.to_owned(), name.to_owned()));
        }
    }
}

impl ServerCells {
    fn take(&mut self, table: &ServerTable, wide: bool) {
        for row in table.rows() {
            self.cells.insert((row.namespace.clone(), row.name.clone()), table.cells(row, wide));
        }
    }
}

fn key(object: &DynamicObject) -> (String, String) {
    let metadata = &object.metadata;
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

async fn fetch(requester: &Requester, target: &Target) -> Option<ServerTable> {
    let selectors = [("labelSelector", &target.label_selector), ("fieldSelector", &target.field_selector)];
    let query: Vec<String> = selectors
        .iter()
        .filter(|(_, selector)| !selector.is_empty())
        .map(|(name, selector)| format!("{name}={}", encode(selector)))
        .collect();
    let table =
        table_source::list(requester, &target.resource, target.namespace.as_deref(), &query.join("&")).await;
    table.unwrap_or_else(|error| {
        tracing::info!("no columns from the server: {error}");
        None
    })
}
