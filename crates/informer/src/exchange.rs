//! One request and its answer, from the first byte to the last, as the reflector's inputs.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use futures_util::{FutureExt, future::Either, future::select};
use http_body_util::BodyExt;
use informer_core::ResourceVersion;
use informer_core::reflector::{Failure, FailureKind, Input, ListEnd, ListItem, Request, WatchEvent};
use informer_wire::{EventKind, GzipMembers, Limits, ListSplitter, WatchFrames};
use tokio::task::JoinHandle;

use crate::decoder::{Decoder, RawItem};
use crate::failure;
use crate::list_watch::{BoxError, ByteBody, ListWatch};
use crate::scratch::Scratch;

/// An error's body is read up to here: enough for any Status, too little to hurt.
const MAX_ERROR_BODY_BYTES: usize = 1 << 20;
/// Items are decoded in batches of about this size: large enough to hide the hand-over to another task (some 10 µs), small
/// enough to give other tasks of the runtime their turn after about a millisecond.
const BATCH_BYTES: usize = 128 << 10;
/// A batch below this is decoded on the spot: a lone event should not wait for a task.
const INLINE_BYTES: usize = 64 << 10;
/// The same for events: servers and connections hand them over in pieces of up to 64 KB and the rest of an event, which take
/// half a millisecond at most; another task would cost its hand-over, and the store of objects made elsewhere.
const INLINE_EVENT_BYTES: usize = 128 << 10;

/// Sends the request and yields what comes of it; the last input is an end or a failure.
pub(crate) fn exchange<V: Send + Sync + 'static>(
    list_watch: Arc<dyn ListWatch>,
    request: Request,
    decoder: Arc<Decoder<V>>,
    limits: Limits,
) -> impl Stream<Item = Input<V>> + Send {
    let start = State::Sending { list_watch, request, decoder, limits };
    stream::unfold(start, |state| async move {
        match state {
            State::Done => None,
            State::Reading(mut reader) => Some(match reader.next().await {
                Step::More(input) => (input, State::Reading(reader)),
                Step::Last(input) => (input, State::Done),
            }),
            State::Sending { list_watch, request, decoder, limits } => {
                let sent = list_watch.send(&request).await;
                Some(match sent {
                    Err(error) => (Input::Failed(failure::transport(&error)), State::Done),
                    Ok(response) if !response.status().is_success() => {
                        (Input::Failed(read_failure(response).await), State::Done)
                    }
                    Ok(response) => {
                        let reader = Reader::new(&request, response, decoder, limits);
                        (Input::Started, State::Reading(Box::new(reader)))
                    }
                })
            }
        }
    })
}

enum State<V> {
    Sending { list_watch: Arc<dyn ListWatch>, request: Request, decoder: Arc<Decoder<V>>, limits: Limits },
    Reading(Box<Reader<V>>),
    Done,
}

enum Step<V> {
    More(Input<V>),
    Last(Input<V>),
}

/// Reads the body of an unsuccessful answer, as far as it is worth reading.
async fn read_failure(response: http::Response<ByteBody>) -> Failure {
    let (head, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data[..data.len().min(MAX_ERROR_BODY_BYTES - bytes.len())]);
        }
        if bytes.len() == MAX_ERROR_BODY_BYTES {
            break;
        }
    }
    failure::unsuccessful(head.status, &head.headers, &bytes)
}

/// Reads a successful answer: splits as bytes arrive, decodes batches on several threads, yields them in order.
struct Reader<V> {
    body: ByteBody,
    gzip: Option<GzipMembers>,
    framing: Framing,
    decoder: Arc<Decoder<V>>,
    /// Split off, waiting to make a batch.
    raw: Vec<RawItem>,
    raw_bytes: usize,
    /// Batches being decoded, oldest first.
    decoding: VecDeque<Decoding<V>>,
    /// How many batches may be in the making: as many as there are threads to make them.
    max_decoding: usize,
    /// How the body ended; yielded after everything before it.
    end: Option<Result<Option<ListEnd>, Failure>>,
}

enum Framing {
    List(Option<Box<ListSplitter>>),
    Watch {
        frames: WatchFrames,
        /// Whether the initial events of a WatchList are still coming.
        initial: bool,
    },
}

enum Decoding<V> {
    Done(Input<V>),
    Elsewhere(JoinHandle<Input<V>>),
}

impl<V: Send + Sync + 'static> Reader<V> {
    fn new(
        request: &Request,
        response: http::Response<ByteBody>,
        decoder: Arc<Decoder<V>>,
        limits: Limits,
    ) -> Self {
        let (head, body) = response.into_parts();
        let encoding = head.headers.get(http::header::CONTENT_ENCODING);
        let gzip = encoding.is_some_and(|encoding| encoding == "gzip");
        Self {
            body,
            gzip: gzip.then(|| GzipMembers::new(limits.clone())),
            framing: match request {
                Request::List(_) => Framing::List(Some(Box::new(ListSplitter::new(limits)))),
                Request::Watch(watch) => {
                    Framing::Watch { frames: WatchFrames::new(limits), initial: watch.initial_events }
                }
            },
            decoder,
            raw: Vec::new(),
            raw_bytes: 0,
            decoding: VecDeque::new(),
            // Not what the system has: asking it reads three files, with each request.
            max_decoding: tokio::runtime::Handle::current().metrics().num_workers(),
            end: None,
        }
    }

    async fn next(&mut self) -> Step<V> {
        loop {
            let room = self.end.is_none() && self.decoding.len() < self.max_decoding;
            if room {
                let idle = self.raw.is_empty() && self.decoding.is_empty();
                let frame =
                    if idle { Some(self.body.frame().await) } else { self.body.frame().now_or_never() };
                if let Some(frame) = frame {
                    self.accept(frame);
                    if idle && self.raw.is_empty() && self.end.is_none() {
                        return Step::More(Input::Alive);
                    }
                    if self.raw_bytes < BATCH_BYTES && self.end.is_none() {
                        continue;
                    }
                }
            }
            if !self.raw.is_empty() && self.decoding.len() < self.max_decoding {
                self.dispatch();
            }
            let room = self.end.is_none() && self.decoding.len() < self.max_decoding;
            let input = match self.decoding.pop_front() {
                Some(Decoding::Done(input)) => input,
                Some(Decoding::Elsewhere(handle)) if !room => joined(handle.await),
                Some(Decoding::Elsewhere(handle)) => match select(handle, self.body.frame()).await {
                    Either::Left((input, _)) => joined(input),
                    Either::Right((frame, handle)) => {
                        self.decoding.push_front(Decoding::Elsewhere(handle));
                        self.accept(frame);
                        continue;
                    }
                },
                None => match self.end.take() {
                    Some(end) => return Step::Last(last(end)),
                    None => continue,
                },
            };
            return Step::More(input);
        }
    }

    /// Takes what the body yielded: splits off what is whole, or notes the end.
    fn accept(&mut self, frame: Option<Result<http_body::Frame<Bytes>, BoxError>>) {
        let result = match frame {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => self.accept_data(data),
                Err(_trailers) => Ok(()),
            },
            Some(Err(error)) => Err(failure::transport(&error)),
            None => {
                let end = self.finish();
                self.end = Some(end);
                return;
            }
        };
        if let Err(failure) = result {
            self.end = Some(Err(failure));
        }
    }

    fn accept_data(&mut self, data: Bytes) -> Result<(), Failure> {
        let Some(gzip) = &mut self.gzip else { return self.split(data) };
        gzip.push(data);
        loop {
            let gzip = self.gzip.as_mut().expect("it is gzip");
            match gzip.next_chunk() {
                Ok(None) => return Ok(()),
                Ok(Some(chunk)) => self.split(chunk)?,
                Err(error) => return Err(failure::malformed(&error)),
            }
        }
    }

    fn split(&mut self, data: Bytes) -> Result<(), Failure> {
        match &mut self.framing {
            Framing::List(splitter) => {
                let splitter = splitter.as_mut().expect("the body has not ended");
                splitter.push(data);
                while let Some(item) = splitter.next_item().map_err(|error| failure::malformed(&error))? {
                    self.raw_bytes += item.len();
                    self.raw.push(RawItem::Listed(item));
                }
            }
            Framing::Watch { frames, .. } => {
                frames.push(data);
                while let Some(line) = frames.next_frame().map_err(|error| failure::malformed(&error))? {
                    let item = match informer_wire::WatchEvent::guess(&line) {
                        Some(event) => RawItem::Guessed(event, line),
                        None => match informer_wire::WatchEvent::parse(&line) {
                            Ok(event) => RawItem::Event(event),
                            Err(error) => RawItem::Malformed(error.to_string().into()),
                        },
                    };
                    self.raw_bytes += item.len();
                    self.raw.push(item);
                }
            }
        }
        Ok(())
    }

    /// The body is at its end: was it whole?
    fn finish(&mut self) -> Result<Option<ListEnd>, Failure> {
        if let Some(gzip) = self.gzip.take() {
            gzip.finish().map_err(|error| failure::malformed(&error))?;
        }
        let Framing::List(splitter) = &mut self.framing else {
            // A line cut off is no event: the next watch brings it whole.
            return Ok(None);
        };
        let splitter = splitter.take().expect("a body ends once");
        let end = splitter.finish().map_err(|error| failure::malformed(&error))?;
        // What is no list would look like an empty one, and delete everything. Some servers leave the kind out.
        let is_list = match end.kind.as_deref() {
            Some(kind) => kind.ends_with("List"),
            None => end.items > 0 || end.resource_version.is_some(),
        };
        if !is_list {
            let message = match end.kind.as_deref() {
                Some(kind @ ("Status" | "Table")) => format!("the answer to a list is a {kind}"),
                _ => "the answer to a list is no list".to_owned(),
            };
            return Err(Failure { kind: FailureKind::Malformed, code: None, message, retry_after: None });
        }
        Ok(Some(ListEnd {
            version: end.resource_version.as_deref().map(ResourceVersion::new),
            continue_token: end.continue_token,
            remaining: end.remaining_item_count,
        }))
    }

    /// Hands the waiting items to a task of their own, or decodes them here if they are few.
    ///
    /// Never to a thread of its own: glibc's malloc has a heap for each thread, and what a thread frees in another's heap that
    /// one alone can use again. The memory of values decoded by many threads in turn was three times what they need.
    fn dispatch(&mut self) {
        let items = std::mem::take(&mut self.raw);
        let bytes = std::mem::take(&mut self.raw_bytes);
        let initial = match &mut self.framing {
            Framing::List(_) => None,
            Framing::Watch { initial, .. } => {
                let now = *initial;
                *initial &= !items.iter().any(ends_initial_events);
                Some(now)
            }
        };
        let inline = if initial == Some(false) { INLINE_EVENT_BYTES } else { INLINE_BYTES };
        let decoding = if bytes < inline || self.max_decoding == 1 {
            Decoding::Done(decode(&self.decoder, items, initial))
        } else {
            let decoder = Arc::clone(&self.decoder);
            Decoding::Elsewhere(tokio::spawn(async move { decode(&decoder, items, initial) }))
        };
        self.decoding.push_back(decoding);
    }
}

fn last<V>(end: Result<Option<ListEnd>, Failure>) -> Input<V> {
    match end {
        Ok(Some(list)) => Input::ListEnd(list),
        Ok(None) => Input::Ended,
        Err(failure) => Input::Failed(failure),
    }
}

impl<V> Drop for Reader<V> {
    fn drop(&mut self) {
        for decoding in &self.decoding {
            if let Decoding::Elsewhere(handle) = decoding {
                handle.abort();
            }
        }
    }
}

/// Past this one, events bring changes: an "unchanged" one would be a lie of the server's, to be looked at. Never a guess.
fn ends_initial_events(item: &RawItem) -> bool {
    matches!(item, RawItem::Event(event) if event.kind == EventKind::Bookmark)
}

/// Decodes a batch: items of a list if `initial` is `None`, else events.
fn decode<V: Send + Sync + 'static>(
    decoder: &Decoder<V>,
    items: Vec<RawItem>,
    initial: Option<bool>,
) -> Input<V> {
    Scratch::with(|scratch| match initial {
        None => Input::Items(
            items
                .into_iter()
                .map(|item| match item {
                    RawItem::Listed(bytes) => decoder.item(&bytes, scratch),
                    RawItem::Event(_) | RawItem::Guessed(..) => unreachable!("a list has items"),
                    RawItem::Malformed(reason) => ListItem::Unreadable(reason),
                })
                .collect(),
        ),
        Some(initial) => {
            let mut initial = initial;
            let mut events = Vec::with_capacity(items.len());
            for item in items {
                events.push(match &item {
                    RawItem::Event(event) => decoder.event(event, initial, scratch),
                    RawItem::Guessed(event, line) => decoder.guessed_event(event, line, initial, scratch),
                    RawItem::Malformed(reason) => WatchEvent::Malformed(Arc::clone(reason)),
                    RawItem::Listed(_) => unreachable!("a watch has events"),
                });
                initial &= !ends_initial_events(&item);
            }
            Input::Events(events)
        }
    })
}

/// A panic outside users' code is a fault of ours: it goes on in the driver, which restarts by a relist.
fn joined<V>(result: Result<Input<V>, tokio::task::JoinError>) -> Input<V> {
    match result {
        Ok(input) => input,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // Only the runtime's shutdown cancels it.
        Err(_) => Input::Ended,
    }
}
