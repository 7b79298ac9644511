//! Multi-member gzip in odd chunkings, bombs and damage.

mod common;

use std::io::Write as _;

use bytes::Bytes;
use common::{any_chunking, chunks};
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use informer_wire::{GzipMembers, Limits, WireError, WireErrorKind};
use proptest::collection::vec;
use proptest::prelude::*;

fn member(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn decode(pieces: &[Bytes], limits: Limits) -> Result<Vec<u8>, WireError> {
    let mut gzip = GzipMembers::new(limits);
    let mut plain = Vec::new();
    for piece in pieces {
        gzip.push(piece.clone());
        while let Some(chunk) = gzip.next_chunk()? {
            assert!(!chunk.is_empty() && chunk.len() <= 32 << 10);
            plain.extend_from_slice(&chunk);
        }
    }
    gzip.finish()?;
    Ok(plain)
}

/// Bytes that do not shrink.
fn noise(len: usize) -> Vec<u8> {
    let mut seeded = common::Seeded(7);
    (0..len).map(|_| seeded.below(256) as u8).collect()
}

proptest! {
    #[test]
    fn members_decode_to_what_was_encoded(
        plain in vec(vec(any::<u8>(), 0..300), 0..5),
        lengths in any_chunking(),
    ) {
        let body: Vec<u8> = plain.iter().flat_map(|plain| member(plain)).collect();
        let got = decode(&chunks(&body, &lengths), Limits::default()).unwrap();
        prop_assert_eq!(got, plain.concat());
    }
}

#[test]
fn any_split_of_two_members_decodes_and_any_prefix_is_truncated() {
    let first = member(b"{\"type\":\"ADDED\"}\n");
    let body = Bytes::from([&first[..], &member(b"two\n")].concat());
    for at in 0..=body.len() {
        let pieces = [body.slice(..at), body.slice(at..)];
        assert_eq!(decode(&pieces, Limits::default()).unwrap(), b"{\"type\":\"ADDED\"}\ntwo\n");
        let whole = at == 0 || at == first.len() || at == body.len();
        let result = decode(&pieces[..1], Limits::default());
        assert_eq!(result.is_err_and(|error| error.is_truncated()), !whole, "prefix of {at}");
    }
}

#[test]
fn an_event_comes_out_before_anything_follows_it() {
    let mut gzip = GzipMembers::new(Limits::default());
    for event in [&b"one\n"[..], b"two\n"] {
        gzip.push(Bytes::from(member(event)));
        assert_eq!(gzip.next_chunk().unwrap().as_deref(), Some(event));
        assert_eq!(gzip.next_chunk().unwrap(), None);
    }
}

#[test]
fn output_within_a_member_comes_out_as_soon_as_it_is_flushed() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let mut gzip = GzipMembers::new(Limits::default());
    for event in [&b"one\n"[..], b"two\n", b"three\n"] {
        encoder.write_all(event).unwrap();
        encoder.flush().unwrap();
        gzip.push(Bytes::from(std::mem::take(encoder.get_mut())));
        let mut plain = Vec::new();
        while let Some(chunk) = gzip.next_chunk().unwrap() {
            plain.extend_from_slice(&chunk);
        }
        assert_eq!(plain, event);
    }
}

#[test]
fn headers_with_every_optional_field_are_read() {
    let builder = GzBuilder::new().filename("f").comment("c").extra(vec![1; 300]).mtime(5);
    let mut encoder = builder.write(Vec::new(), Compression::default());
    encoder.write_all(b"plain").unwrap();
    let body = encoder.finish().unwrap();
    for len in [1, 7, 1000] {
        assert_eq!(decode(&chunks(&body, &[len]), Limits::default()).unwrap(), b"plain");
    }
}

#[test]
fn output_larger_than_a_piece_comes_out_whole() {
    for plain in [noise(200_000), vec![b' '; 200_000], vec![b'x'; 32 << 10], vec![b'x'; 64 << 10]] {
        let body = member(&plain);
        for len in [1, 4096, usize::MAX] {
            assert_eq!(decode(&chunks(&body, &[len]), Limits::default()).unwrap(), plain);
        }
    }
}

#[test]
fn damage_is_told_and_stays() {
    let good = member(b"some plain text, some plain text");
    let bad = |body: Vec<u8>| {
        let error = decode(&[Bytes::from(body)], Limits::default()).unwrap_err();
        assert!(error.is_malformed());
        assert_eq!((error.kind(), error.place()), (WireErrorKind::BadGzip, "gzip"));
    };
    let damaged = |at: usize| {
        let mut body = good.clone();
        body[at] ^= 0x55;
        body
    };
    bad(damaged(0));
    bad(damaged(2));
    bad(damaged(good.len() - 1)); // length
    bad(damaged(good.len() - 5)); // checksum
    bad([&good[..], b"{\"kind\":\"Status\"}"].concat());
    bad(b"{\"kind\":\"Status\",\"code\":500}".to_vec());
    bad(b"\x78\x9c\x03\x00\x00\x00\x00\x01".to_vec()); // zlib, not gzip

    let mut gzip = GzipMembers::new(Limits::default());
    gzip.push(Bytes::from_static(b"no gzip at all, for sure"));
    let error = gzip.next_chunk().unwrap_err();
    gzip.push(Bytes::from(good));
    assert_eq!(gzip.next_chunk().unwrap_err(), error);
}

#[test]
fn a_bomb_is_stopped_when_the_slack_is_spent() {
    let bomb = member(&vec![0; 40 << 20]);
    let limits = Limits::default().gzip_slack_bytes(4 << 20).gzip_ratio(200);
    let mut gzip = GzipMembers::new(limits);
    let mut plain = 0;
    let mut pushed = 0;
    let error = 'all: loop {
        let piece = Bytes::copy_from_slice(&bomb[pushed..pushed + 512]);
        pushed += piece.len();
        gzip.push(piece);
        loop {
            match gzip.next_chunk() {
                Ok(Some(chunk)) => plain += chunk.len(),
                Ok(None) => break,
                Err(error) => break 'all error,
            }
        }
    };
    assert_eq!(error.kind(), WireErrorKind::RatioTooHigh { limit: 200 });
    assert!(plain <= (4 << 20) + 200 * pushed, "{plain} bytes came out of {pushed}");
}

#[test]
fn many_small_bombs_are_one_large_bomb() {
    let member = member(&vec![0; 1 << 20]);
    let pieces = vec![Bytes::from(member); 40];
    let tight = Limits::default().gzip_slack_bytes(4 << 20);
    assert!(decode(&pieces, tight).unwrap_err().is_limit());
    // Forty of etcd's largest objects full of filler are legitimate.
    assert_eq!(decode(&pieces, Limits::default()).unwrap().len(), 40 << 20);
}

#[test]
fn a_member_has_a_limit_but_a_stream_has_none() {
    let limits = Limits::default().member_bytes(1000);
    let pieces = vec![Bytes::from(member(&[b'x'; 1000])); 10];
    assert_eq!(decode(&pieces, limits.clone()).unwrap().len(), 10_000);
    let error = decode(&[Bytes::from(member(&[b'x'; 1001]))], limits).unwrap_err();
    assert_eq!(error.kind(), WireErrorKind::OutputTooLong { limit: 1000 });
}

#[test]
fn an_empty_body_is_no_member() {
    assert_eq!(decode(&[], Limits::default()).unwrap(), b"");
    assert_eq!(decode(&[Bytes::new()], Limits::default()).unwrap(), b"");
    assert_eq!(decode(&[Bytes::from(member(b""))], Limits::default()).unwrap(), b"");
}

#[test]
fn finishing_before_taking_the_output_is_told() {
    let mut gzip = GzipMembers::new(Limits::default());
    gzip.push(Bytes::from(member(b"x")));
    assert_eq!(gzip.finish().unwrap_err().kind(), WireErrorKind::Undrained);
}
