//! Who takes part in an election, and by which durations; what breaks the election's rules is refused here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Polls of those who do not lead lie up to this many twentieths of the retry period apart: client-go's jitter, 1.2.
const JITTER_TWENTIETHS: u32 = 24;

/// Who takes part, and by which durations: checked when it is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElectionOptions {
    pub(super) identity: Arc<str>,
    pub(super) lease_duration: Duration,
    pub(super) renew_deadline: Duration,
    pub(super) retry_period: Duration,
    pub(super) release: bool,
    pub(super) stop_timeout: Duration,
}

impl ElectionOptions {
    /// An elector with this identity, which no other process may ever use at the same time.
    ///
    /// A lease duration is counted in whole seconds, since a Lease can say no other, and rounded up.
    ///
    /// # Errors
    /// Unless the identity is not empty, `lease_duration > renew_deadline > 1.2 * retry_period > 0`, and the lease duration is
    /// at most `i32::MAX` seconds.
    pub fn new(
        identity: impl Into<Arc<str>>,
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, InvalidElection> {
        let identity = identity.into();
        if identity.is_empty() {
            return Err(InvalidElection::EmptyIdentity);
        }
        if retry_period.is_zero() {
            return Err(InvalidElection::NoRetryPeriod);
        }
        if retry_period.saturating_mul(JITTER_TWENTIETHS) / 20 >= renew_deadline {
            return Err(InvalidElection::ShortRenewDeadline { renew_deadline, retry_period });
        }
        if renew_deadline >= lease_duration {
            return Err(InvalidElection::ShortLeaseDuration { lease_duration, renew_deadline });
        }
        let seconds = lease_duration.as_secs().saturating_add(u64::from(lease_duration.subsec_nanos() > 0));
        if i32::try_from(seconds).is_err() {
            return Err(InvalidElection::LongLeaseDuration { lease_duration });
        }
        Ok(Self {
            identity,
            lease_duration: Duration::from_secs(seconds),
            renew_deadline,
            retry_period,
            release: false,
            stop_timeout: Duration::from_secs(30),
        })
    }

    /// Whether the record is given back once the work has stopped, because it was asked to or because it had come to its end.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self
    }

    /// How long the work may take to stop when it is asked to, while the record is still renewed. After a loss it has until
    /// another may lead, if that is sooner.
    pub fn stop_timeout(mut self, timeout: Duration) -> Self {
        self.stop_timeout = timeout;
        self
    }

    /// Who this is.
    pub fn identity(&self) -> &Arc<str> {
        &self.identity
    }

    /// The lease duration, in whole seconds.
    pub fn lease_duration(&self) -> Duration {
        self.lease_duration
    }

    /// How long the belief to lead lasts after the last renewal that succeeded was sent.
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    /// The time between two renewals.
    pub fn retry_period(&self) -> Duration {
        self.retry_period
    }

    /// The longest that a request may take: two of them fit between a renewal that failed and the end of the belief, as with
    /// controller-runtime.
    pub fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }
}

/// Why an election cannot take place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InvalidElection {
    /// The identity is empty: that is how a record says that nobody leads.
    EmptyIdentity,
    /// The retry period is zero: requests without a pause.
    NoRetryPeriod,
    /// Not even one renewal would fit into the renew deadline.
    ShortRenewDeadline {
        /// What was given.
        renew_deadline: Duration,
        /// It must be more than 1.2 times this.
        retry_period: Duration,
    },
    /// Another would lead before this one knows that it does not.
    ShortLeaseDuration {
        /// What was given.
        lease_duration: Duration,
        /// It must be more than this.
        renew_deadline: Duration,
    },
    /// A Lease cannot say it.
    LongLeaseDuration {
        /// What was given.
        lease_duration: Duration,
    },
}

impl fmt::Display for InvalidElection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyIdentity => f.write_str("the identity is empty"),
            Self::NoRetryPeriod => f.write_str("the retry period is zero"),
            Self::ShortRenewDeadline { renew_deadline, retry_period } => {
                write!(
                    f,
                    "the renew deadline ({renew_deadline:?}) is not more than 1.2 retry periods ({retry_period:?})"
                )
            }
            Self::ShortLeaseDuration { lease_duration, renew_deadline } => {
                write!(
                    f,
                    "the lease duration ({lease_duration:?}) is not more than the renew deadline ({renew_deadline:?})"
                )
            }
            Self::LongLeaseDuration { lease_duration } => {
                write!(f, "the lease duration ({lease_duration:?}) is more than {} seconds", i32::MAX)
            }
        }
    }
}

impl std::error::Error for InvalidElection {}
