//! Serves a moving cluster until it is interrupted:
//! `cargo run -p informer-testserver --example serve -- [kubeconfig path] [Pods]`; 0 Pods leave it empty and still.

use std::io::Write as _;

use informer_testserver::TestServer;
use informer_testserver::workload::{Workload, WorkloadOptions};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = TestServer::builder().create_namespaces(true).build();
    let listening = server.listen().await?;
    let path = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join("informer-testserver.kubeconfig"),
        std::path::PathBuf::from,
    );
    std::fs::write(&path, listening.kubeconfig())?;
    println!("url: {}", listening.url());
    println!("kubectl --kubeconfig {} get pods -A", path.display());
    std::io::stdout().flush()?;
    let objects = std::env::args().nth(2).and_then(|count| count.parse().ok()).unwrap_or(50);
    if objects == 0 {
        std::future::pending::<()>().await;
    }
    let options = WorkloadOptions { objects, ..WorkloadOptions::default() };
    let workload = Workload::new(server, options).map_err(std::io::Error::other)?;
    Err(std::io::Error::other(workload.run().await))
}
