//! Requests on their way: watches share HTTP/2 connections where the server offers that, all else takes HTTP/1.1.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
#[cfg(feature = "rustls")]
use http::Uri;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::Body;
use tower::Service;

#[cfg(feature = "rustls")]
use crate::shared_connections::{Place, SharedConnections};
use crate::term_connector::TermConnector;

#[cfg(feature = "rustls")]
pub(crate) type Connector = hyper_rustls::HttpsConnector<TermConnector>;
#[cfg(not(feature = "rustls"))]
pub(crate) type Connector = TermConnector;

/// What sends requests to an API server.
#[derive(Clone)]
pub(crate) struct Transport {
    http1: Client<Connector, Body>,
    /// For watches.
    #[cfg(feature = "rustls")]
    shared: SharedConnections,
}

/// The body of an answer, and its place on a connection that it shares with others.
pub(crate) struct AnswerBody {
    inner: Incoming,
    #[cfg(feature = "rustls")]
    place: Option<Place>,
}

impl Transport {
    #[cfg(feature = "rustls")]
    pub(crate) fn new(config: &Config, connector: TermConnector) -> Result<Self, kube::Error> {
        use kube::client::ConfigExt;

        let shared = SharedConnections::new(config, connector.clone())?;
        let connector = config.rustls_https_connector_with_connector(connector)?;
        Ok(Self { http1: Client::builder(TokioExecutor::new()).build(connector), shared })
    }

    #[cfg(not(feature = "rustls"))]
    pub(crate) fn new(config: &Config, connector: TermConnector) -> Result<Self, kube::Error> {
        if config.cluster_url.scheme() == Some(&http::uri::Scheme::HTTPS) {
            return Err(kube::Error::TlsRequired);
        }
        Ok(Self { http1: Client::builder(TokioExecutor::new()).build(connector) })
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<AnswerBody>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Self::Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    #[cfg(feature = "rustls")]
    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (client, place) = match is_watch(request.uri()) {
            true => {
                let (client, place) = self.shared.place();
                (client, Some(place))
            }
            false => (self.http1.clone(), None),
        };
        Box::pin(async move {
            match client.request(request).await {
                Ok(answer) => Ok(answer.map(|inner| AnswerBody { inner, place })),
                Err(error) => {
                    place.into_iter().for_each(Place::end);
                    Err(error)
                }
            }
        })
    }

    #[cfg(not(feature = "rustls"))]
    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let answer = self.http1.request(request);
        Box::pin(async move { Ok(answer.await?.map(|inner| AnswerBody { inner })) })
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        #[cfg(feature = "rustls")]
        if let Poll::Ready(None | Some(Err(_))) = frame {
            self.place.take().into_iter().for_each(Place::end);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(feature = "rustls")]
fn is_watch(uri: &Uri) -> bool {
    let words = uri.query().unwrap_or_default().split('&');
    words.into_iter().any(|word| matches!(word, "watch=true" | "watch=1"))
}
