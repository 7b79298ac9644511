//! Tests of `watch`.

use super::*;
use crate::args::{Cli, Command, Watch};
use clap::Parser;
use informer_testserver::TestServer;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Output that a test reads while the command writes.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits until the output contains that text.
    async fn until(&self, wanted: &str) -> String {
        let wait = async {
            while !self.text().contains(wanted) {
                tokio::task::yield_now().await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(20), wait).await;
        assert!(found.is_ok(), "no {wanted:?} in\n{}", self.text());
        self.text()
    }
}

/// Runs `steps` beside `informer LINE` on the server, and answers with the whole output.
async fn run<F: Future<Output = ()>>(
    server: &TestServer,
    line: &str,
    steps: impl FnOnce(Shared) -> F,
) -> String {
    let listening = server.listen().await.unwrap();
    let url = listening.url();
    let words = ["informer"].into_iter().chain(line.split_whitespace()).chain(["--server", url.as_str()]);
    let cli = Cli::try_parse_from(words).unwrap();
    let mut out = Shared::default();
    let seen = out.clone();
    match &cli.command {
        Command::Watch(Watch { query, .. }) => {
            let stop = steps(seen.clone());
            watch(&cli.global, query, &Exposed::default(), &mut out, Screen::FILE, stop).await.unwrap();
        }
        Command::Get(query) => {
            let result = crate::get::get(&cli.global, query, &mut out, Screen::FILE).await;
            steps(seen.clone()).await;
            if let Err(failure) = result {
                return format!("{}{failure}\n", seen.text());
            }
        }
        _ => panic!("{line}"),
    }
    listening.shutdown().await;
    seen.text()
}

async fn got(server: &TestServer, line: &str) -> String {
    run(server, line, |_| std::future::ready(())).await
}

fn config_map(name: &str, keys: &[&str]) -> Value {
    let data: serde_json::Map<String, Value> =
        keys.iter().map(|k| ((*k).to_owned(), json!("hunter2"))).collect();
    json!({"metadata": {"name": name, "namespace": "x"}, "data": data})
}

fn world() -> TestServer {
    let server = TestServer::builder().create_namespaces(true).build();
    server.create("configmaps", config_map("a", &["k"])).unwrap();
    server
}

#[tokio::test]
async fn a_table_shows_what_there_is_and_what_changes() {
    let server = world();
    let writer = server.clone();
    let text = run(&server, "watch cm -n x", |out| async move {
        out.until("a      1").await;
        writer.create("configmaps", config_map("b", &[])).unwrap();
        out.until("added").await;
        writer.delete("configmaps", "x", "a").unwrap();
        out.until("deleted").await;
    })
    .await;
    let words: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["NAME", "DATA", "AGE", "CHANGE"]);
    assert_eq!(words[1][..2], ["a", "1"]);
    assert_eq!((words[2][0], *words[2].last().unwrap()), ("b", "added"));
    assert_eq!((words[3][0], *words[3].last().unwrap()), ("a", "deleted"));
    assert!(!text.contains("hunter2"));
}

#[tokio::test]
async fn on_a_narrow_screen_changes_stand_below_their_rows() {
    let server = world();
    let writer = server.clone();
    let listening = server.listen().await.unwrap();
    let words = ["informer", "watch", "cm", "-n", "x", "--server", &listening.url()].map(str::to_owned);
    let Cli { command: Command::Watch(Watch { query, .. }), global } = Cli::try_parse_from(words).unwrap()
    else {
        panic!("another command");
    };
    let mut out = Shared::default();
    let seen = out.clone();
    let steps = async move {
        seen.until("a      1").await;
        writer.modify("configmaps", "x", "a", |object| object["data"]["l"] = json!("hunter2")).unwrap();
        seen.until("data +l").await;
    };
    watch(&global, &query, &Exposed::default(), &mut out, Screen::wide(30), steps).await.unwrap();
    listening.shutdown().await;
    let text = out.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("AGE"), "{text}");
    assert_eq!((&lines[2][..8], lines[3]), ("a      2", "    data +l"), "{text}");
}

#[tokio::test]
async fn json_lines_tell_everything_in_order() {
    let server = world();
    let writer = server.clone();
    let text = run(
        &server,
        "watch configmaps -A -o jsonl --field-selector metadata.namespace=x",
        |out| async move {
            out.until("Synced").await;
            writer.create("configmaps", config_map("b", &[])).unwrap();
            out.until("\"name\":\"b\"").await;
            writer.delete("configmaps", "x", "b").unwrap();
            out.until("Deleted").await;
        },
    )
    .await;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["Added", "Synced", "Added", "Deleted"]);
    assert_eq!(lines[0]["inInitialList"], true);
    assert_eq!(lines[2]["inInitialList"], false);
    assert_eq!(lines[3]["lastState"], "Known");
    assert_eq!(lines[3]["object"]["metadata"]["name"], "b");
    assert!(lines.iter().all(|line| line["resource"] == "configmaps"));
}

#[tokio::test]
async fn get_prints_objects_in_every_format() {
    let server = world();
    assert_eq!(got(&server, "get cm/a -n x -o name").await, "configmap/a\n");
    let object: Value = serde_json::from_str(&got(&server, "get cm a -n x -o json").await).unwrap();
    assert_eq!((&object["kind"], &object["metadata"]["name"]), (&json!("ConfigMap"), &json!("a")));
    let list: Value = serde_saphyr::from_str(&got(&server, "get cm -n x -o yaml").await).unwrap();
    assert_eq!((&list["kind"], list["items"].as_array().unwrap().len()), (&json!("List"), 1));
    assert_eq!(got(&server, "get cm -n x -o jsonl").await.lines().count(), 1);
    let table = got(&server, "get cm,ns -A").await;
    assert!(table.contains("NAMESPACE   NAME          DATA   AGE\nx           configmap/a   1 "), "{table}");
    assert!(table.contains("\n\nNAME"), "{table}");
    assert!(table.contains("namespace/x"), "{table}");
    assert_eq!(got(&server, "get cm -n empty").await, "");
}

#[tokio::test]
async fn kinds_without_columns_of_ours_get_the_servers() {
    let server = world();
    let lease = json!({"metadata": {"name": "l", "namespace": "x"}, "spec": {"holderIdentity": "me"}});
    server.create("leases.coordination.k8s.io", lease).unwrap();
    let text = got(&server, "get leases -n x").await;
    let cells: Vec<&str> = text.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert!(text.starts_with("NAME"), "{text}");
    assert_eq!(cells[0], "l");
}

#[tokio::test]
async fn failures_are_one_line_that_says_why() {
    let server = world();
    assert_eq!(
        got(&server, "get cm/nope -n x").await,
        "Error from server (NotFound): configmaps \"nope\" not found\n"
    );
    let text = got(&server, "get confimaps -n x").await;
    assert!(text.contains("resource type \"confimaps\"; did you mean configmaps"), "{text}");
    server.deny(informer_testserver::Verb::List, "configmaps");
    server.deny(informer_testserver::Verb::Watch, "configmaps");
    let text = got(&server, "get cm -n x").await;
    assert!(text.starts_with("Error from server (Forbidden): configmaps is forbidden"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn the_summary_has_two_lines() {
    let mut tally = Tally {
        added: 12,
        updated: 530,
        deleted: 8,
        relists: 1,
        synced_after: Some(Duration::from_millis(123)),
        ..Tally::default()
    };
    assert_eq!(
        summary("pods", 100, Some(2), &tally, Duration::from_secs(192)),
        "pods: 100 now, 12 added, 530 updated, 8 deleted in 3m12s\nsynced in 123 ms, 2 requests, 1 relist, no trouble\n"
    );
    tally.trouble(without_next_try("pods: watch failed: refused; next try in 1.0 s").to_owned());
    let second = |tally: &Tally| {
        summary("pods", 0, None, tally, Duration::ZERO).lines().nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(second(&tally), "synced in 123 ms, last trouble: pods: watch failed: refused");
    tally.trouble_is_over = true;
    assert_eq!(second(&tally), "synced in 123 ms, last trouble (over): pods: watch failed: refused");
}
