//! What the tests share: informers of the embedded server, and reading a scrape.

use std::collections::BTreeMap;
use std::time::Duration;

use informer::{
    InformerBuilder, ReflectorOptions, ResourceListWatch, ResourceVersion, SharedInformer, Typed,
};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

/// Longer than anything may take under paused time, where waiting costs nothing.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

pub(crate) fn config_maps(server: &TestServer) -> InformerBuilder<ConfigMap> {
    let client = kube::Client::new(server.clone(), "default");
    SharedInformer::builder(ResourceListWatch::of::<ConfigMap>(client), Typed::new())
        .reflector_options(|options: ReflectorOptions| options.watch_list(false))
}

pub(crate) fn put(server: &TestServer, name: &str, data: &str) -> ResourceVersion {
    let object = json!({"metadata": {"name": name, "namespace": "default"}, "data": {"k": data}});
    let stored = server.put("configmaps", object).expect("a valid object");
    ResourceVersion::new(stored["metadata"]["resourceVersion"].as_str().expect("it was stored"))
}

pub(crate) async fn started(builder: InformerBuilder<ConfigMap>) -> SharedInformer<ConfigMap> {
    let informer = builder.build().expect("one source");
    informer.start();
    informer.wait_for_sync(LIMIT).await.expect("it syncs");
    informer
}

/// Waits until a condition holds, under paused time.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// One scrape, as a metrics system reads it.
pub(crate) struct Scrape {
    pub(crate) text: String,
    samples: BTreeMap<String, f64>,
}

impl Scrape {
    pub(crate) fn new(text: String) -> Self {
        let mut samples = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
            let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
            assert!(samples.insert(series.to_owned(), value).is_none(), "twice: {series}");
        }
        Self { text, samples }
    }

    /// The only series of this name with all these labels (`key="value"`).
    pub(crate) fn value(&self, name: &str, labels: &[&str]) -> f64 {
        let found: Vec<f64> = self.series(name, labels).map(|(_, value)| *value).collect();
        assert_eq!(found.len(), 1, "{name} {labels:?} in\n{}", self.text);
        found[0]
    }

    pub(crate) fn count(&self, name: &str, labels: &[&str]) -> usize {
        self.series(name, labels).count()
    }

    fn series<'a>(&'a self, name: &str, labels: &[&str]) -> impl Iterator<Item = (&'a String, &'a f64)> {
        self.samples.iter().filter(move |(series, _)| {
            let (own, rest) = series.split_once('{').unwrap_or((series, ""));
            own == name && labels.iter().all(|label| rest.contains(label))
        })
    }
}
