//! The benchmark's own API server: one collection of generated objects as JSON over plain HTTP.
//!
//! It shares no code with the library. Objects are made from a template when they are sent, at about the cost of
//! copying them; a version is a number and a place in the log of changes, so that a million objects take a few
//! megabytes. Standard input tells it what to do:
//!
//! ```text
//! events COUNT [PER_SECOND]   changes COUNT objects, one after the other; answers at once
//! relist PERCENT              changes so many objects, ends every watch, and forgets all versions before
//! state                       answers with the version and how many watches are open
//! ```

mod body;
mod control;
mod list;
mod request;
mod state;
mod watch;

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use clap::Parser;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use informer_bench::{Collection, Kind, Lines, say};
use serde_json::json;
use state::Server;
use tokio::net::TcpListener;

/// Serves generated objects until standard input ends.
#[derive(Debug, Parser)]
struct Arguments {
    /// What to serve.
    #[arg(long, value_enum, default_value = "pod-5k")]
    kind: Kind,
    /// How many.
    #[arg(long, default_value_t = 20_000)]
    objects: usize,
    /// How many in a namespace.
    #[arg(long, default_value_t = 500)]
    namespace_objects: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let collection = Collection::new(arguments.kind, arguments.objects, arguments.namespace_objects);
    let server = Arc::new(Server::new(collection));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    say(&json!({"url": format!("http://{}", listener.local_addr()?)}))?;
    tokio::spawn(accept(listener, Arc::clone(&server)));
    let mut lines = Lines::stdin();
    while let Some(words) = lines.next().await? {
        say(&control::obey(&server, &words))?;
    }
    Ok(())
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    // An error here is of one connection, or of a process without file descriptors, which its driver will notice.
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answer = request::answer(&server, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut connection = http1::Builder::new();
            connection.timer(TokioTimer::new());
            // A client may go at any time.
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
