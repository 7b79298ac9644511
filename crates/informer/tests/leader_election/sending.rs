//! What a replaced leader's client sends: nothing, however late the process learns that it was replaced.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer::{ElectionClock, Leadership, TermOver};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::{Client, Config};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::support::{Candidate, SECOND, builder};

/// A clock that only the test moves: a process that is frozen does not see the time pass.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn election(&self) -> ElectionClock {
        let seconds = Arc::clone(&self.0);
        ElectionClock::from_fn(move || Duration::from_secs(1_000 + seconds.load(Ordering::SeqCst)))
    }

    /// Past the renew deadline, before anybody could be told.
    fn end_of_term(&self) {
        self.0.fetch_add(11, Ordering::SeqCst);
    }
}

async fn leader(server: &TestServer, clock: &Clock) -> (Candidate, Leadership) {
    let candidate = Candidate::start(builder(server, "a").clock(clock.election()), SECOND);
    let leadership = candidate.leads().await;
    (candidate, leadership)
}

fn config_maps(leadership: &Leadership, url: &str) -> Api<ConfigMap> {
    let client: Client = leadership.client(Config::new(url.parse().unwrap())).unwrap();
    Api::namespaced(client, "default")
}

fn config_map(name: &str, data: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"text": data}})).unwrap()
}

#[tokio::test]
async fn a_client_of_a_term_sends_while_it_lasts_and_not_after() {
    let server = TestServer::new();
    let listening = server.listen().await.unwrap();
    let clock = Clock::default();
    let (candidate, leadership) = leader(&server, &clock).await;
    let config_maps = config_maps(&leadership, &listening.url());
    config_maps.create(&PostParams::default(), &config_map("in-time", "")).await.unwrap();
    assert!(server.get("configmaps", "default", "in-time").is_ok());

    server.clear_requests();
    clock.end_of_term();
    // By the connection that is open, and by a new one.
    for _ in 0..2 {
        let error = config_maps.create(&PostParams::default(), &config_map("late", "")).await.unwrap_err();
        assert!(TermOver::caused(&error), "{error:?}");
    }
    let requests = server.requests();
    assert!(requests.iter().all(|request| !request.path.contains("configmaps")), "{requests:?}");
    candidate.kill().await;
}

#[tokio::test]
async fn the_rest_of_a_request_is_not_sent_after_the_term() {
    const LENGTH: usize = 32 << 20;
    let server = TestServer::new();
    let clock = Clock::default();
    let (candidate, leadership) = leader(&server, &clock).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let config_maps = config_maps(&leadership, &format!("http://{}", listener.local_addr().unwrap()));
    let request = tokio::spawn(async move {
        config_maps.create(&PostParams::default(), &config_map("long", &"x".repeat(LENGTH))).await
    });
    let (mut connection, _) = listener.accept().await.unwrap();
    // It has begun, and more than the system keeps is still to come.
    let mut received = connection.read(&mut [0; 1024]).await.unwrap();
    clock.end_of_term();
    let mut buffer = vec![0; 1 << 20];
    while let Ok(length @ 1..) = connection.read(&mut buffer).await {
        received += length;
    }
    assert!(received < LENGTH, "{received} bytes arrived");
    let error = request.await.unwrap().unwrap_err();
    assert!(TermOver::caused(&error), "{error:?}");
    candidate.kill().await;
}

#[tokio::test]
async fn a_proxys_connections_cannot_be_bound_to_a_term() {
    let server = TestServer::new();
    let (candidate, leadership) = leader(&server, &Clock::default()).await;
    let mut config = Config::new("http://localhost:1".parse().unwrap());
    config.proxy_url = Some("http://localhost:2".parse().unwrap());
    let error = leadership.client(config).err().expect("it is refused");
    assert!(error.to_string().contains("proxy"), "{error}");
    candidate.kill().await;
}
