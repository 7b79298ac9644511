//! What can go wrong between the server and the informer.

use std::time::Duration;

use informer_core::Rng;
use informer_core::reflector::{Failure, FailureKind};

use crate::dice::Dice;

/// The fate of one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Refused,
    ResetBeforeHeaders,
    /// Half-open before the answer.
    NoHeaders,
    Status(FailureKind, u16, &'static str),
    /// 429, with the wait the server asks for.
    Busy,
    /// Broken off in the middle.
    Cut,
    /// Half-open in the middle.
    Stalled,
    ErrorEvent(FailureKind, u16, &'static str),
    Malformed,
    Unreadable,
    UnknownEvent,
    /// Ends in order, but early.
    ShortWatch,
    NoEndBookmark,
    /// A plain bookmark among the initial events.
    PlainBookmark,
    WatchListRejected,
    /// The last event again.
    Duplicate,
    /// An old event again: a broken server.
    EventWentBack,
    /// A bookmark older than the last event: a broken server.
    BookmarkWentBack,
}

impl Fault {
    /// Every fault there is.
    pub(crate) const ALL: [Self; 27] = [
        Self::Refused,
        Self::ResetBeforeHeaders,
        Self::NoHeaders,
        Self::Status(FailureKind::Internal, 500, "fault: 500"),
        Self::Status(FailureKind::Status, 503, "fault: 503"),
        Self::Status(FailureKind::Status, 504, "fault: 504"),
        Self::Status(FailureKind::Unauthorized, 401, "fault: 401"),
        Self::Status(FailureKind::Forbidden, 403, "fault: 403"),
        Self::Status(FailureKind::Invalid, 400, "fault: 400"),
        Self::Status(FailureKind::NotFound, 404, "fault: 404"),
        Self::Status(FailureKind::Expired, 410, "fault: 410"),
        Self::Busy,
        Self::Cut,
        Self::Stalled,
        Self::ErrorEvent(FailureKind::Expired, 410, "fault: ERROR 410"),
        Self::ErrorEvent(FailureKind::Internal, 500, "fault: ERROR 500"),
        Self::ErrorEvent(FailureKind::TooManyRequests, 429, "fault: ERROR 429"),
        Self::Malformed,
        Self::Unreadable,
        Self::UnknownEvent,
        Self::ShortWatch,
        Self::NoEndBookmark,
        Self::PlainBookmark,
        Self::WatchListRejected,
        Self::Duplicate,
        Self::EventWentBack,
        Self::BookmarkWentBack,
    ];

    /// Whether it happens after the answer has begun.
    pub(crate) fn is_in_body(self) -> bool {
        let before = matches!(self, Self::Refused | Self::ResetBeforeHeaders | Self::NoHeaders | Self::Busy);
        !before && !matches!(self, Self::Status(..) | Self::WatchListRejected)
    }

    /// Its name in the load's counts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Status(_, _, name) | Self::ErrorEvent(_, _, name) => name,
            Self::Refused => "fault: refused",
            Self::ResetBeforeHeaders => "fault: reset before headers",
            Self::NoHeaders => "fault: no headers",
            Self::Busy => "fault: 429",
            Self::Cut => "fault: cut",
            Self::Stalled => "fault: stalled",
            Self::Malformed => "fault: malformed",
            Self::Unreadable => "fault: unreadable",
            Self::UnknownEvent => "fault: unknown event",
            Self::ShortWatch => "fault: short watch",
            Self::NoEndBookmark => "fault: no end bookmark",
            Self::PlainBookmark => "fault: plain bookmark",
            Self::WatchListRejected => "fault: watch-list rejected",
            Self::Duplicate => "fault: duplicate",
            Self::EventWentBack => "fault: event went back",
            Self::BookmarkWentBack => "fault: bookmark went back",
        }
    }

    /// The failure with which the request is answered, if this fault is one that answers at once.
    pub(crate) fn at_once(self, watch_list: bool, rng: &mut Rng) -> Option<Failure> {
        Some(match self {
            Self::Refused => failure(FailureKind::Refused, None),
            Self::ResetBeforeHeaders => failure(FailureKind::Transport, None),
            Self::Status(kind, code, _) => failure(kind, Some(code)),
            Self::Busy => {
                let retry_after =
                    rng.chance(70).then(|| Duration::from_secs(rng.range(0, MAX_RETRY_AFTER_S)));
                Failure { retry_after, ..failure(FailureKind::TooManyRequests, Some(429)) }
            }
            Self::WatchListRejected if watch_list => failure(FailureKind::Invalid, Some(422)),
            _ => return None,
        })
    }
}

/// The longest wait that the model server asks for.
pub(crate) const MAX_RETRY_AFTER_S: u64 = 60;

pub(crate) fn failure(kind: FailureKind, code: Option<u16>) -> Failure {
    Failure { kind, code, message: format!("{kind:?}"), retry_after: None }
}
