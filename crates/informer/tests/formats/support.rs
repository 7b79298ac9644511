//! A list of any JSON as a source.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody};
use informer::{
    BoxError, ByteBody, Format, ListWatch, Object, ReflectorOptions, Request, SharedInformer, list_watch_fn,
};

/// Longer than anything may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// Lists these objects, given as JSON, and watches in silence.
pub(crate) fn source(items: &[Vec<u8>]) -> impl ListWatch {
    let list = [
        br#"{"kind":"AnyList","metadata":{"resourceVersion":"1000000"},"items":["#.to_vec(),
        items.join(&b','),
        b"]}".to_vec(),
    ]
    .concat();
    let list = Bytes::from(list);
    list_watch_fn("a list of a test", move |request: Request| {
        let list = list.clone();
        async move {
            let body: ByteBody = match request {
                Request::Watch(_) => StreamBody::new(stream::pending::<Result<_, BoxError>>()).boxed_unsync(),
                Request::List(_) => Full::from(list).map_err(|never| match never {}).boxed_unsync(),
            };
            Ok(http::Response::new(body))
        }
    })
}

/// An informer of these objects, synced.
pub(crate) async fn synced<F: Format>(items: &[Vec<u8>], format: F) -> SharedInformer<F::Value> {
    let informer = SharedInformer::builder(source(items), format)
        .reflector_options(|options: ReflectorOptions| options.watch_list(false))
        .build()
        .unwrap();
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    informer
}

/// What is cached, by key.
pub(crate) async fn cached<F: Format>(items: &[Vec<u8>], format: F) -> Vec<Arc<Object<F::Value>>> {
    let informer = synced(items, format).await;
    let objects = informer.store().list();
    informer.stop().await;
    objects
}
