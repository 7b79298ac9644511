//! A list of any size passes through little memory, on several threads, in order.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use informer::{ByteBody, EventHandler, ListWatch, Request, SharedInformer, Typed, list_watch_fn};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::*;

const ITEMS: usize = 6_000;
const ITEM_BYTES: usize = 4096;

/// How far the producer of the body ever was ahead of the decoder, in items.
#[derive(Default)]
struct Gauge {
    produced: AtomicUsize,
    decoded: AtomicUsize,
    furthest: AtomicUsize,
}

/// A list that is made while it is read, and a watch in which nothing happens.
fn source(gauge: Arc<Gauge>) -> impl ListWatch {
    list_watch_fn("configmaps", move |request: Request| {
        let gauge = Arc::clone(&gauge);
        async move {
            let body: ByteBody = match request {
                Request::Watch(_) => StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>())
                    .map_err(|never| match never {})
                    .boxed_unsync(),
                Request::List(_) => {
                    let head = Bytes::from_static(
                        b"{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[",
                    );
                    let items = (0..ITEMS).map(move |number| {
                        let ahead = gauge.produced.fetch_add(1, Ordering::SeqCst) + 1 - gauge.decoded.load(Ordering::SeqCst);
                        gauge.furthest.fetch_max(ahead, Ordering::SeqCst);
                        let comma = if number > 0 { "," } else { "" };
                        let padding = "x".repeat(ITEM_BYTES);
                        Bytes::from(format!(
                            "{comma}{{\"metadata\":{{\"name\":\"cm-{number:06}\",\"namespace\":\"default\",\"uid\":\"u{number}\",\
                             \"resourceVersion\":\"{}\"}},\"data\":{{\"k\":\"{padding}\"}}}}",
                            number % 9 + 1
                        ))
                    });
                    let chunks = std::iter::once(head).chain(items).chain([Bytes::from_static(b"]}")]);
                    StreamBody::new(stream::iter(chunks.map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)))))
                        .map_err(|never| match never {})
                        .boxed_unsync()
                }
            };
            Ok(http::Response::new(body))
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_list_is_never_held_whole_and_keeps_its_order() {
    let gauge = Arc::new(Gauge::default());
    let threads = Arc::new(Mutex::new(BTreeSet::new()));
    let (counter, seen) = (Arc::clone(&gauge), Arc::clone(&threads));
    let transform = move |map: &mut ConfigMap| {
        counter.decoded.fetch_add(1, Ordering::SeqCst);
        seen.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
        // What is cached is not measured here.
        map.data = None;
    };
    let informer = SharedInformer::builder(source(Arc::clone(&gauge)), Typed::<ConfigMap>::new())
        .reflector_options(|options| options.watch_list(false))
        .transform(transform)
        .build()
        .unwrap();
    let names = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&names);
    let handler = EventHandler::new()
        .on_added(move |object, _| told.lock().unwrap().push(object.key.name().to_owned()));
    let registration = informer.add_event_handler(handler);
    informer.start();
    registration.wait_for_sync(LIMIT).await.unwrap();

    assert_eq!(informer.store().len(), ITEMS);
    let names = names.lock().unwrap();
    assert!(names.is_sorted() && names.len() == ITEMS, "in the list's order, each once");
    // 24 MB went through; what waited for a decoder was a batch (512 KB) for each core and one more.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let batches = cores + 2;
    let bound = batches * (512 * 1024 / ITEM_BYTES + 1);
    let furthest = gauge.furthest.load(Ordering::SeqCst);
    assert!(furthest <= bound, "{furthest} items of {ITEMS} waited, expected at most {bound}");
    if cores > 1 {
        assert!(threads.lock().unwrap().len() > 1, "one thread decoded everything");
    }
}
