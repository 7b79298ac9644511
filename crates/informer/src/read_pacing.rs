//! Reads that wait a moment when a server sends much in small pieces, so that each brings more.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Reads are counted in periods of this length, and while one brings [`BULK`] the next waits for its end: so much later comes
/// what comes in bulk.
const PERIOD: Duration = Duration::from_millis(8);
/// Bytes of one period that are no trickle: 2 MB a second, some 300 Pods.
const BULK: usize = 16 << 10;
/// Reads of one period that need not be fewer.
const FEW: u32 = 8;
/// A read that brings as much is worth its call, and there may be more.
const MUCH: usize = 32 << 10;

/// A connection whose bursts are read in larger pieces.
///
/// kube-apiserver sends each initial object of a WatchList by itself, and each event. A client that is woken for each does so with
/// cold caches, and spends more on system calls and on changing tasks than on the objects. Network cards save interrupts in the
/// same way. A short burst is not delayed, nor is what comes now and then.
pub(crate) struct PacedReads<S> {
    inner: S,
    /// None where nothing is paced.
    period: Option<Period>,
    pause: Option<Pin<Box<Sleep>>>,
}

/// What came since it began.
struct Period {
    began: Instant,
    reads: u32,
    bytes: usize,
    /// Whether reads wait for its end.
    is_paced: bool,
}

impl Period {
    fn new(began: Instant, is_paced: bool) -> Self {
        Self { began, reads: 0, bytes: 0, is_paced }
    }

    /// After a read: how long the next one has to wait.
    fn pause_after(&mut self, now: Instant, bytes: usize) -> Option<Duration> {
        self.reads += 1;
        self.bytes += bytes;
        let age = now.saturating_duration_since(self.began);
        if age >= PERIOD {
            // What this read brought came meanwhile, too. But if nothing was there to be read for long, that says nothing of now.
            let is_bulk = self.bytes >= BULK && (self.is_paced || self.reads >= FEW);
            *self = Self::new(now, is_bulk && age < 2 * PERIOD);
        }
        (self.is_paced && bytes < MUCH)
            .then(|| PERIOD.saturating_sub(now.saturating_duration_since(self.began)))
    }
}

impl<S> PacedReads<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner, period: Some(Period::new(Instant::now(), false)), pause: None }
    }

    /// The connection as it is.
    pub(crate) fn unpaced(inner: S) -> Self {
        Self { inner, period: None, pause: None }
    }

    pub(crate) fn get_ref(&self) -> &S {
        &self.inner
    }

    fn inner(self: Pin<&mut Self>) -> Pin<&mut S>
    where
        S: Unpin,
    {
        Pin::new(&mut self.get_mut().inner)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PacedReads<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        let before = into.filled().len();
        std::task::ready!(self.as_mut().inner().poll_read(cx, into))?;
        let bytes = into.filled().len() - before;
        let pause = self.period.as_mut().and_then(|period| period.pause_after(Instant::now(), bytes));
        self.pause = pause.map(|pause| Box::pin(sleep(pause)));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PacedReads<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const OBJECT: usize = 6_000;

    /// The pauses after reads of so many bytes at these times.
    fn pauses(period: &mut Period, start: Instant, reads: &[(Duration, usize)]) -> Vec<Option<Duration>> {
        reads.iter().map(|&(at, bytes)| period.pause_after(start + at, bytes)).collect()
    }

    fn each_millisecond(reads: u32, bytes: usize) -> Vec<(Duration, usize)> {
        (0..reads).map(|at| (Duration::from_millis(at.into()), bytes)).collect()
    }

    #[test]
    fn what_comes_now_and_then_is_read_at_once() {
        let start = Instant::now();
        let mut period = Period::new(start, false);
        // An object each 5 ms is 1.2 MB a second; one of 300 bytes each millisecond is less.
        let seldom: Vec<_> =
            each_millisecond(200, OBJECT).into_iter().map(|(at, bytes)| (at * 5, bytes)).collect();
        assert!(pauses(&mut period, start, &seldom).iter().all(Option::is_none));
        let small = each_millisecond(1_000, 300);
        assert!(pauses(&mut period, start + Duration::from_secs(2), &small).iter().all(Option::is_none));
    }

    #[test]
    fn a_short_burst_is_read_at_once() {
        let start = Instant::now();
        let mut period = Period::new(start, false);
        let burst: Vec<_> = (0..79).map(|at| (Duration::from_micros(at * 100), OBJECT)).collect();
        assert!(pauses(&mut period, start, &burst).iter().all(Option::is_none));
    }

    #[test]
    fn what_comes_in_bulk_waits_for_the_end_of_its_period() {
        let start = Instant::now();
        let mut period = Period::new(start, false);
        let pauses = pauses(&mut period, start, &each_millisecond(9, OBJECT));
        assert!(pauses[..8].iter().all(Option::is_none), "the first period is free: {pauses:?}");
        assert_eq!(pauses[8], Some(PERIOD));
        // It has waited, and finds much: there may be more.
        let then = start + 2 * PERIOD;
        assert_eq!(period.pause_after(then, MUCH), None);
        assert_eq!(period.pause_after(then + PERIOD / 4, OBJECT), Some(PERIOD * 3 / 4));
        // That goes on for as long as there is enough,
        assert_eq!(period.pause_after(then + PERIOD, BULK), Some(PERIOD));
        assert_eq!(period.pause_after(then + 2 * PERIOD, BULK), Some(PERIOD));
        // and no longer.
        assert_eq!(period.pause_after(then + 3 * PERIOD, OBJECT), None);
    }

    #[test]
    fn after_silence_nothing_waits() {
        let start = Instant::now();
        let mut period = Period::new(start, false);
        pauses(&mut period, start, &each_millisecond(9, OBJECT));
        period.pause_after(start + 2 * PERIOD, BULK);
        assert_eq!(period.pause_after(start + 5 * PERIOD, OBJECT), None);
    }

    #[tokio::test]
    async fn every_byte_arrives_in_order() {
        let (mut server, client) = duplex(512);
        let sent: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
        let sending = async {
            for piece in sent.chunks(100) {
                server.write_all(piece).await.unwrap();
            }
            drop(server);
        };
        let (mut received, mut paced) = (Vec::new(), PacedReads::new(client));
        // Paced from the beginning, and for as long as it brings enough.
        paced.period = Some(Period::new(Instant::now(), true));
        let (_, read) = tokio::join!(sending, paced.read_to_end(&mut received));
        read.unwrap();
        assert!(received == sent);
    }
}
