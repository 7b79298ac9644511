//! The body of an answer: whole, a list written while it is read, or a watch; and what faults do to its bytes.

use std::fmt;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body::{Frame, SizeHint};

use crate::faults::Fault;
use crate::representation::Representation;
use crate::storage::Stored;
use crate::watch_body::WatchBody;

/// The streaming body of the server's answers.
#[derive(Debug)]
pub struct Body {
    source: Source,
    plan: Plan,
    /// Bytes made but not handed out yet (when they are dripped).
    waiting: BytesMut,
    /// Bytes handed out.
    sent: usize,
    ended: bool,
    /// Times to wait before a reset: the transport sends what it holds when the body has nothing for it.
    hold: u8,
}

#[derive(Debug)]
enum Source {
    Whole(Option<Bytes>),
    List(Box<ListBody>),
    Watch(Box<WatchBody>),
}

/// What happens to the bytes on their way.
#[derive(Debug, Default)]
struct Plan {
    limit: Option<(usize, AtLimit)>,
    drip: Option<usize>,
    gzip: Gzip,
}

#[derive(Debug, Default)]
enum Gzip {
    #[default]
    No,
    /// Every piece is a gzip member of its own.
    Members,
    /// One member for the whole body.
    Stream(Box<Option<GzEncoder<Vec<u8>>>>),
}

#[derive(Debug, Clone, Copy)]
enum AtLimit {
    End,
    Reset,
    Stall,
}

/// The connection broke in the middle of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyError;

impl fmt::Display for BodyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("connection reset in the middle of a body")
    }
}

impl std::error::Error for BodyError {}

impl Body {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::new(Source::Whole(Some(bytes.into())))
    }

    pub(crate) fn list(list: ListBody) -> Self {
        Self::new(Source::List(Box::new(list)))
    }

    pub(crate) fn watch(watch: WatchBody) -> Self {
        Self::new(Source::Watch(Box::new(watch)))
    }

    fn new(source: Source) -> Self {
        Self { source, plan: Plan::default(), waiting: BytesMut::new(), sent: 0, ended: false, hold: 2 }
    }

    pub(crate) fn is_watch(&self) -> bool {
        matches!(self.source, Source::Watch(_))
    }

    /// It is a list or an object of more than so many bytes.
    pub(crate) fn is_longer_than(&self, bytes: usize) -> bool {
        match &self.source {
            Source::Whole(whole) => whole.as_ref().is_some_and(|whole| whole.len() > bytes),
            Source::List(list) => list.estimate() > bytes,
            Source::Watch(_) => false,
        }
    }

    /// Each piece becomes a gzip member of its own.
    pub(crate) fn gzip_members(&mut self) {
        self.plan.gzip = Gzip::Members;
    }

    /// The body is compressed as a whole.
    pub(crate) fn gzip(&mut self) {
        self.plan.gzip = Gzip::Stream(Box::new(Some(GzEncoder::new(Vec::new(), Compression::fast()))));
    }

    /// Takes in the faults that change the bytes of a body.
    pub(crate) fn apply(&mut self, faults: &[Fault]) {
        for fault in faults {
            match *fault {
                Fault::ResetBody { after_bytes } => self.plan.limit = Some((after_bytes, AtLimit::Reset)),
                Fault::CutBody { after_bytes } => self.plan.limit = Some((after_bytes, AtLimit::End)),
                Fault::StallBody { after_bytes } => self.plan.limit = Some((after_bytes, AtLimit::Stall)),
                Fault::Drip { chunk_bytes } => self.plan.drip = Some(chunk_bytes.max(1)),
                _ => {}
            }
        }
    }

    /// The next piece as the source makes it, compressed if so planned.
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let single = matches!(self.plan.gzip, Gzip::Members);
            let piece = match &mut self.source {
                Source::Whole(whole) => Ok(whole.take()),
                Source::List(list) => Ok(list.next_piece()),
                Source::Watch(watch) => ready!(watch.poll_piece(context, single)),
            };
            let piece = match piece {
                Ok(piece) => piece,
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            let out = match (&mut self.plan.gzip, piece) {
                (Gzip::No, piece) => return Poll::Ready(piece.map(Ok)),
                (Gzip::Members, piece) => return Poll::Ready(piece.map(|piece| Ok(gzip(&piece)))),
                (Gzip::Stream(encoder), None) => {
                    // Writing into memory cannot fail.
                    return Poll::Ready(
                        encoder.take().and_then(|encoder| encoder.finish().ok()).map(|end| Ok(end.into())),
                    );
                }
                (Gzip::Stream(encoder), Some(piece)) => {
                    let Some(encoder) = encoder.as_mut() else { return Poll::Ready(None) };
                    let written = encoder.write_all(&piece);
                    debug_assert!(written.is_ok());
                    std::mem::take(encoder.get_mut())
                }
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out.into())));
            }
        }
    }

    /// As much of `piece` as may go out before the planned limit.
    fn pass(&mut self, piece: Bytes) -> Bytes {
        let allowed = self.plan.limit.map_or(usize::MAX, |(limit, _)| limit - self.sent.min(limit));
        let mut now = piece;
        if let Some(size) = self.plan.drip {
            self.waiting.extend_from_slice(&now);
            now = self.waiting.split_to(size.min(self.waiting.len())).freeze();
        }
        now.truncate(allowed);
        self.sent += now.len();
        now
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        if let Some((limit, what)) = this.plan.limit
            && this.sent >= limit
        {
            return match what {
                AtLimit::Stall => Poll::Pending,
                AtLimit::Reset if this.hold > 0 => {
                    this.hold -= 1;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                AtLimit::End | AtLimit::Reset => {
                    this.ended = true;
                    this.source = Source::Whole(None);
                    Poll::Ready(matches!(what, AtLimit::Reset).then_some(Err(BodyError)))
                }
            };
        }
        let piece = if this.waiting.is_empty() {
            match ready!(this.poll_source(context)) {
                Some(Ok(piece)) => piece,
                Some(Err(_)) => {
                    this.plan.limit = Some((0, AtLimit::Reset));
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                None => {
                    this.ended = true;
                    return Poll::Ready(None);
                }
            }
        } else {
            Bytes::new()
        };
        Poll::Ready(Some(Ok(Frame::data(this.pass(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
            || (self.plan.limit.is_none()
                && self.waiting.is_empty()
                && matches!(self.plan.gzip, Gzip::No)
                && matches!(self.source, Source::Whole(None)))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Whole(Some(whole))
                if self.plan.limit.is_none() && matches!(self.plan.gzip, Gzip::No) && self.sent == 0 =>
            {
                SizeHint::with_exact(whole.len() as u64)
            }
            _ => SizeHint::default(),
        }
    }
}

/// One complete gzip member.
fn gzip(piece: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(piece.len() / 4 + 32), Compression::fast());
    // Writing into memory cannot fail.
    let written = encoder.write_all(piece);
    debug_assert!(written.is_ok());
    Bytes::from(encoder.finish().unwrap_or_default())
}

/// A list that is written piece by piece while it is read: it holds references to the stored bytes, not copies.
#[derive(Debug)]
pub(crate) struct ListBody {
    pub(crate) head: String,
    pub(crate) tail: String,
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) representation: Arc<Representation>,
    next: usize,
    state: ListState,
}

#[derive(Debug, PartialEq)]
enum ListState {
    Head,
    Objects,
    Done,
}

/// A list is handed out in pieces of about this size: large enough for few system calls, small beside a list.
const PIECE_BYTES: usize = 64 << 10;

impl ListBody {
    pub(crate) fn new(
        head: String,
        tail: String,
        objects: Vec<Arc<Stored>>,
        representation: Arc<Representation>,
    ) -> Self {
        Self { head, tail, objects, representation, next: 0, state: ListState::Head }
    }

    fn estimate(&self) -> usize {
        self.objects.iter().map(|object| object.encoded.body.len()).sum()
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        if self.state == ListState::Done {
            return None;
        }
        let mut out = BytesMut::with_capacity(PIECE_BYTES.min(self.estimate_rest()) + 1024);
        if self.state == ListState::Head {
            out.extend_from_slice(self.head.as_bytes());
            self.state = ListState::Objects;
        }
        while out.len() < PIECE_BYTES {
            let Some(object) = self.objects.get(self.next) else {
                out.extend_from_slice(self.tail.as_bytes());
                self.state = ListState::Done;
                break;
            };
            if self.next > 0 {
                out.extend_from_slice(b",");
            }
            self.representation.write_item(object, &mut out);
            self.next += 1;
        }
        Some(out.freeze())
    }

    fn estimate_rest(&self) -> usize {
        let mut sum = 0;
        for object in self.objects.iter().skip(self.next) {
            sum += object.encoded.body.len();
            if sum > PIECE_BYTES {
                break;
            }
        }
        sum
    }
}
