//! The wire between an informer and the server, which can be cut or fall silent while everybody else's is well.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// A TCP relay on a port of its own, in front of a server.
pub(crate) struct Gate {
    upstream: SocketAddr,
    addr: SocketAddr,
    accept: Mutex<Option<JoinHandle<()>>>,
    connections: Arc<Mutex<JoinSet<()>>>,
    /// Connections made before this last changed are silent.
    silenced: watch::Sender<u64>,
}

impl Gate {
    /// An open gate in front of `upstream`.
    pub(crate) async fn open_to(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let gate = Self {
            upstream,
            addr: listener.local_addr()?,
            accept: Mutex::default(),
            connections: Arc::default(),
            silenced: watch::Sender::new(0),
        };
        gate.accept_on(listener);
        Ok(gate)
    }

    /// Where clients connect to.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Resets what is connected and refuses new connections.
    pub(crate) async fn cut(&self) {
        let accept = lock(&self.accept).take();
        if let Some(accept) = accept {
            accept.abort();
            let _ = accept.await;
        }
        let mut connections = std::mem::take(&mut *lock(&self.connections));
        connections.shutdown().await;
    }

    /// Accepts connections again.
    pub(crate) async fn mend(&self) -> io::Result<()> {
        self.accept_on(TcpListener::bind(self.addr).await?);
        Ok(())
    }

    /// Makes what is connected half-open: nothing comes or goes any more, and nobody is told. New connections work.
    pub(crate) fn silence(&self) {
        self.silenced.send_modify(|times| *times += 1);
    }

    /// How many connections there are.
    pub(crate) fn connections(&self) -> usize {
        let mut connections = lock(&self.connections);
        while connections.try_join_next().is_some() {}
        connections.len()
    }

    fn accept_on(&self, listener: TcpListener) {
        let (upstream, silenced) = (self.upstream, self.silenced.clone());
        let connections = Arc::clone(&self.connections);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let silenced = silenced.subscribe();
                lock(&connections).spawn(relay(stream, upstream, silenced));
            }
        });
        *lock(&self.accept) = Some(task);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(accept) = lock(&self.accept).take() {
            accept.abort();
        }
        lock(&self.connections).abort_all();
    }
}

async fn relay(mut client: TcpStream, upstream: SocketAddr, mut silenced: watch::Receiver<u64>) {
    // Whoever has no upstream sees its connection closed, as by a server that is down.
    let Ok(mut server) = TcpStream::connect(upstream).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        Ok(()) = silenced.changed() => std::future::pending().await,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
