//! The reflector's inputs and outputs: requests to send, what came back, what to store, what to tell people.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Delta, Identity, Item, Mono, Object, ObjectKey, ResourceVersion};

/// Names one request, so that what arrives late for an abandoned one is recognised and dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

/// A request the shell is to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// GET of the collection, or of one page of it.
    List(ListRequest),
    /// GET of the stream of changes.
    Watch(WatchRequest),
}

impl Request {
    /// What kind of request this is, for messages.
    pub fn kind(&self) -> RequestKind {
        match self {
            Self::List(_) => RequestKind::List,
            Self::Watch(watch) if watch.initial_events => RequestKind::WatchList,
            Self::Watch(_) => RequestKind::Watch,
        }
    }
}

/// The parameters of a LIST.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListRequest {
    /// `resourceVersion`: `None` sends none (a consistent read), `"0"` accepts any cached version, another one
    /// means "at least as fresh". Never set together with a continue token.
    pub version: Option<ResourceVersion>,
    /// `limit`: the size of a page; `None` asks for everything at once.
    pub page_size: Option<u32>,
    /// `continue`: the next page of an earlier answer.
    pub continue_token: Option<String>,
}

/// The parameters of a WATCH. Bookmarks are always asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchRequest {
    /// `resourceVersion`: changes after this one; `None` sends an empty version.
    pub version: Option<ResourceVersion>,
    /// `timeoutSeconds`: when the server is to end the stream.
    pub timeout: Duration,
    /// `sendInitialEvents=true&resourceVersionMatch=NotOlderThan` (KEP-3157, WatchList).
    pub initial_events: bool,
}

/// The kinds of request a reflector sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestKind {
    /// LIST.
    List,
    /// WATCH.
    Watch,
    /// WATCH that begins with the whole collection.
    WatchList,
}

impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Watch => "watch",
            Self::WatchList => "watch-list",
        })
    }
}

/// What came back for a request.
#[derive(Debug)]
pub enum Input<V> {
    /// The status line and headers of a successful answer.
    Started,
    /// Some items of a LIST, in the server's order.
    Items(Vec<ListItem<V>>),
    /// The end of a LIST's body, whole and valid.
    ListEnd(ListEnd),
    /// Some events of a WATCH, in the server's order.
    Events(Vec<WatchEvent<V>>),
    /// Bytes arrived, though no whole item or event yet.
    Alive,
    /// A WATCH ended in order.
    Ended,
    /// The request failed: refused, answered with an error, or broken off. Nothing more comes of it.
    Failed(Failure),
}

/// One object as it came off the wire.
#[derive(Debug)]
pub enum ListItem<V> {
    /// A decoded object.
    Decoded(Item<V>),
    /// Uid and version are those of this stored object: it was not decoded again.
    Unchanged(Arc<Object<V>>),
    /// It could be identified but not decoded.
    Undecodable(Identity, Arc<str>),
    /// It could not even be identified. The text says why, free of the object's values.
    Unreadable(Arc<str>),
}

/// The envelope of a LIST's answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListEnd {
    /// The version of the list; empty if the server sent none.
    pub version: Option<ResourceVersion>,
    /// Set if there are more pages.
    pub continue_token: Option<String>,
    /// How many items are left, where the server says so.
    pub remaining: Option<u64>,
}

/// One line of a WATCH.
#[derive(Debug)]
pub enum WatchEvent<V> {
    /// ADDED.
    Added(ListItem<V>),
    /// MODIFIED.
    Modified(ListItem<V>),
    /// DELETED. The identity's version is the one at which the object is absent.
    Deleted(ListItem<V>),
    /// BOOKMARK.
    Bookmark {
        /// Nothing changed up to this version.
        version: ResourceVersion,
        /// Annotated `k8s.io/initial-events-end: "true"`.
        initial_events_end: bool,
    },
    /// ERROR, with the status it carries.
    Error(Failure),
    /// A type this library does not know, skipped.
    Unknown {
        /// The type, cut to a bounded length.
        kind: String,
        /// The object's version, if it could be read.
        version: Option<ResourceVersion>,
    },
    /// A line that is no event at all. The text says why, free of values.
    Malformed(Arc<str>),
}

/// Why a request failed, as far as the machine and a person need to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The class that decides what happens next.
    pub kind: FailureKind,
    /// The HTTP status, if an answer came.
    pub code: Option<u16>,
    /// One line for people, bounded, free of object values.
    pub message: String,
    /// How long the server asks us to wait.
    pub retry_after: Option<Duration>,
}

/// The classes of failure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// Nobody listens there.
    Refused,
    /// The connection could not be made or broke (reset, TLS, DNS, end of file inside a body).
    Transport,
    /// The answer's headers did not come in time.
    HeadersTimeout,
    /// No byte came for too long.
    Idle,
    /// 410, or a status with reason `Expired` or `Gone`: the version or continue token is lost.
    Expired,
    /// 504 with cause `ResourceVersionTooLarge` in any of its three dialects: the server lags behind our version.
    VersionTooLarge,
    /// 429.
    TooManyRequests,
    /// 400 or 422: the server does not like the parameters.
    Invalid,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 500 and its like.
    Internal,
    /// Any other status.
    Status,
    /// A body that is not what the protocol says.
    Malformed,
    /// A limit on size or depth was reached.
    LimitExceeded,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What the shell is to do.
#[derive(Debug)]
pub enum Output<V> {
    /// Send this request. At most one is under way: an earlier one has ended or been aborted.
    Send(RequestId, Request),
    /// Abandon this request and close its connection.
    Abort(RequestId),
    /// Put this into the queue.
    Store(Delta<V>),
    /// Tell people.
    Trouble(Trouble),
    /// Nothing to do until this time or the next input; `None`: until the next input.
    Timeout(Option<Mono>),
}

/// Something a person may want to know.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Trouble {
    /// A request failed; it is tried again after `retry_in`.
    RequestFailed {
        /// What was asked.
        request: RequestKind,
        /// Why it failed.
        failure: Failure,
        /// When the next attempt starts, from now.
        retry_in: Duration,
    },
    /// The server ends watches at once, without an event or again and again.
    ShortWatches {
        /// How many in a row.
        count: u32,
    },
    /// WatchList does not work here; LIST is used instead.
    WatchListGivenUp {
        /// Why.
        reason: String,
    },
    /// The object cannot be decoded; its last good state is kept and marked stale.
    Undecodable {
        /// Which object.
        identity: Identity,
        /// Why, free of values.
        reason: Arc<str>,
    },
    /// Something arrived that could not even be identified.
    Unreadable {
        /// Why, free of values.
        reason: Arc<str>,
    },
    /// An event of unknown type was skipped.
    UnknownEvent {
        /// Its type.
        kind: String,
    },
    /// The server sent an older version after a newer one in one stream: it is broken, and the collection is listed again.
    VersionWentBack {
        /// The object concerned.
        key: ObjectKey,
        /// What was seen before.
        seen: ResourceVersion,
        /// What came then.
        got: ResourceVersion,
    },
    /// The server sent a bookmark older than what came before it in the same stream: it is broken, and the collection is
    /// listed again.
    BookmarkWentBack {
        /// What was seen before.
        seen: ResourceVersion,
        /// What came then.
        got: ResourceVersion,
    },
    /// A consistent list is older than what was seen before: the server was restored from a backup. It is believed.
    OlderList {
        /// What was seen before.
        seen: ResourceVersion,
        /// The version of the list.
        got: ResourceVersion,
    },
    /// Versions are not numbers here: they cannot be compared, and going back cannot be noticed.
    OpaqueVersions,
    /// A list came without a version.
    MissingVersion,
    /// The resource does not exist (any more): cached objects are deleted, and it is retried slowly.
    ResourceGone,
    /// What was failing works again.
    Recovered,
}

/// Where a reflector stands.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Phase {
    /// Not started, or stopped.
    Stopped,
    /// Reading a LIST.
    Listing {
        /// Items read so far, all pages.
        items: usize,
        /// Items in all, where the server says so.
        total: Option<u64>,
    },
    /// Reading the initial events of a WatchList.
    WatchListing {
        /// Objects read so far.
        items: usize,
    },
    /// Watching from the last version.
    Watching,
    /// Waiting to try again.
    BackingOff {
        /// Until when.
        until: Mono,
    },
    /// The resource does not exist; retried slowly.
    ResourceGone,
}
