//! The HTTP/1.1 listener on loopback: starts, stops, restarts on its port, resets what is open.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::server::{Inner, TestServer};
use crate::service::serve;

/// A running listener. Dropping it stops it and resets its connections.
#[derive(Debug)]
pub struct Listening {
    server: TestServer,
    addr: SocketAddr,
    tasks: Mutex<Tasks>,
    connections: Arc<Mutex<JoinSet<()>>>,
}

#[derive(Debug, Default)]
struct Tasks {
    accept: Option<JoinHandle<()>>,
}

impl TestServer {
    /// Serves HTTP/1.1 on a free port of the loopback address.
    ///
    /// # Errors
    /// The operating system gives no port.
    pub async fn listen(&self) -> io::Result<Listening> {
        self.listen_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    /// Serves HTTP/1.1 on this address.
    ///
    /// # Errors
    /// The address is in use, or not ours.
    pub async fn listen_on(&self, addr: SocketAddr) -> io::Result<Listening> {
        let listener = TcpListener::bind(addr).await?;
        let listening = Listening {
            server: self.clone(),
            addr: listener.local_addr()?,
            tasks: Mutex::default(),
            connections: Arc::default(),
        };
        listening.accept_on(listener);
        Ok(listening)
    }
}

impl Listening {
    /// The address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The address as a URL: `http://127.0.0.1:40001`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// A kubeconfig for this server, with the token it asks for.
    pub fn kubeconfig(&self) -> String {
        let token = self.server.inner.control().bearer_token.clone();
        let user = token.map_or_else(|| "{}".to_owned(), |token| format!("{{\"token\": \"{token}\"}}"));
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\nclusters:\n- name: test\n  cluster:\n    server: {}\ncontexts:\n- name: test\n  context:\n    cluster: test\n    user: test\nusers:\n- name: test\n  user: {user}\n",
            self.url()
        )
    }

    /// Refuses new connections; those that are open stay.
    pub async fn refuse(&self) {
        let accept = self.tasks().accept.take();
        if let Some(accept) = accept {
            accept.abort();
            // The socket is closed when the task is gone.
            let _ = accept.await;
        }
    }

    /// Accepts connections again, on the same port.
    ///
    /// # Errors
    /// Somebody else has taken the port.
    pub async fn accept(&self) -> io::Result<()> {
        if self.tasks().accept.is_none() {
            self.accept_on(TcpListener::bind(self.addr).await?);
        }
        Ok(())
    }

    /// Breaks all open connections of this listener.
    pub async fn reset_connections(&self) {
        let mut connections = std::mem::take(&mut *self.connections());
        connections.shutdown().await;
    }

    /// Refuses new connections and breaks the open ones; the server's state stays.
    pub async fn stop(&self) {
        self.refuse().await;
        self.reset_connections().await;
    }

    /// Stops and starts again, as an API server that is replaced: all connections and all watches break.
    ///
    /// `keep_history`: whether the new one can serve earlier versions, or has a cold watch cache (410 for them).
    ///
    /// # Errors
    /// Somebody else has taken the port meanwhile.
    pub async fn restart(&self, keep_history: bool) -> io::Result<()> {
        self.stop().await;
        self.server.reset_all_watches();
        if !keep_history {
            self.server.compact();
        }
        self.accept().await
    }

    /// Stops for good.
    pub async fn shutdown(self) {
        self.stop().await;
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.connections.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn accept_on(&self, listener: TcpListener) {
        let inner = Arc::clone(&self.server.inner);
        let connections = Arc::clone(&self.connections);
        let accept = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let mut open = connections.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        while open.try_join_next().is_some() {}
                        open.spawn(connection(Arc::clone(&inner), stream));
                    }
                    // Out of file descriptors, or the peer is gone already: others may succeed.
                    Err(error) => {
                        tracing::debug!(%error, "accept");
                        tokio::task::yield_now().await;
                    }
                }
            }
        });
        self.tasks().accept = Some(accept);
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(accept) = self.tasks().accept.take() {
            accept.abort();
        }
        self.connections().abort_all();
    }
}

/// Counts a connection as long as it lives, however it ends.
struct Open(Arc<Inner>);

impl Open {
    fn new(inner: Arc<Inner>) -> Self {
        inner.connections.fetch_add(1, Ordering::Relaxed);
        Self(inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn connection(inner: Arc<Inner>, stream: TcpStream) {
    let _open = Open::new(Arc::clone(&inner));
    // Watch events are small and must not wait for each other.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "nodelay");
    }
    let service = service_fn(move |request| serve(Arc::clone(&inner), request));
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "connection");
    }
}
