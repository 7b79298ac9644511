//! Damaged bytes: nothing panics, nothing passes a limit, and chunks never change the answer.

mod common;

use bytes::Bytes;
use common::{Seeded, chunks};
use informer_wire::{GzipMembers, Limits, ListSplitter, ObjectMeta, WatchEvent, WatchFrames, WireError};
use serde_json::Value;

const LIST: &[u8] = br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"221","continue":"eyJ2Ijoi","remainingItemCount":4},"items":[{"metadata":{"name":"c1","namespace":"default","uid":"ebbfc665","resourceVersion":"215","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"v1","kind":"A","name":"n","uid":"u","controller":true}],"managedFields":[{"manager":"m","fieldsV1":{"f:data":{".":{},"k:{\"p\":1}":{}}}}]},"data":{"k":"2\u00e9\ud83d\ude80"}},{"metadata":{"name":"c2","annotations":{"x":"{\"a\":[1,2]}"}},"items":[null,true,-1.5e3]}]}"#;

const WATCH: &[u8] = b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\r\n\n{\"object\":{\"a\":\"\\\"}\"},\"type\":\"BOOKMARK\"}\n{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\"}}\n{\"typ";

const ROUNDS: usize = 6_000;

/// Replaces, removes, inserts or repeats up to four stretches.
fn damage(seeded: &mut Seeded, text: &[u8]) -> Vec<u8> {
    const BYTES: &[u8] = b"{}[]\",:\\ \n0ntu\xff\x00\x1f";
    let mut bytes = text.to_vec();
    for _ in 0..=seeded.below(3) {
        let at = seeded.below(bytes.len());
        let byte = BYTES[seeded.below(BYTES.len())];
        match seeded.below(5) {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => {
                let end = (at + 1 + seeded.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + 1 + seeded.below(60)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => bytes.truncate(at.max(1)),
        }
        if bytes.is_empty() {
            bytes.push(byte);
        }
    }
    bytes
}

fn split(pieces: &[Bytes], limits: &Limits) -> (Vec<Bytes>, Result<u64, WireError>) {
    let mut list = ListSplitter::new(limits.clone());
    let mut items = Vec::new();
    for piece in pieces {
        list.push(piece.clone());
        loop {
            match list.next_item() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => return (items, Err(error)),
            }
        }
    }
    (items, list.finish().map(|end| end.items))
}

#[test]
fn damaged_lists_give_the_same_answer_in_every_chunking() {
    let mut seeded = Seeded(0x5EED);
    let limits = Limits::default().item_bytes(450).metadata_bytes(100);
    let mut good = 0;
    for _ in 0..ROUNDS {
        let bytes = damage(&mut seeded, LIST);
        let whole = split(&[Bytes::copy_from_slice(&bytes)], &limits);
        let lengths = [1 + seeded.below(9), 1 + seeded.below(90)];
        assert_eq!(split(&chunks(&bytes, &lengths), &limits), whole, "{}", bytes.escape_ascii());
        assert!(whole.0.iter().all(|item| item.len() <= 450));
        if let Ok(value) = serde_json::from_slice::<Value>(&bytes) {
            // What serde_json accepts is split as it says, or refused for a reason of ours.
            if whole.1.is_ok() {
                good += 1;
                let items: Vec<Value> =
                    whole.0.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
                assert_eq!(value["items"].as_array().cloned().unwrap_or_default(), items);
            }
        }
    }
    assert!(good > 50, "only {good} texts were well-formed");
}

#[test]
fn damaged_objects_are_scanned_and_cut_as_serde_json_reads_them() {
    let mut seeded = Seeded(0xC0FFEE);
    let (items, _) = split(&[Bytes::from_static(LIST)], &Limits::default());
    let mut good = 0;
    for round in 0..ROUNDS {
        let bytes = damage(&mut seeded, &items[round % 2]);
        let Ok(meta) = ObjectMeta::scan(&bytes) else {
            continue;
        };
        let _ = (meta.labels().count(), meta.annotations().count(), meta.owner_references().count());
        let mut cut = Vec::new();
        meta.extend_without_managed_fields(&mut cut);
        let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) else {
            continue;
        };
        good += 1;
        assert_eq!(value["metadata"]["name"].as_str(), Some(meta.name()));
        value["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(serde_json::from_slice::<Value>(&cut).unwrap(), value);
    }
    assert!(good > 300, "only {good} texts were well-formed");
}

fn events(pieces: &[Bytes]) -> Vec<Result<WatchEvent, WireError>> {
    let mut frames = WatchFrames::new(Limits::default().line_bytes(200));
    let mut events = Vec::new();
    for piece in pieces {
        frames.push(piece.clone());
        loop {
            match frames.next_frame() {
                Ok(Some(line)) => {
                    assert!(line.len() <= 200 && !line.contains(&b'\n'));
                    let event = WatchEvent::parse(&line);
                    if let Some(guess) = WatchEvent::guess(&line)
                        && ObjectMeta::scan(&guess.object).is_ok()
                    {
                        assert_eq!(event.as_ref(), Ok(&guess), "a guess that can be read is right");
                    }
                    events.push(event);
                }
                Ok(None) => break,
                Err(error) => {
                    events.push(Err(error));
                    return events;
                }
            }
        }
    }
    events
}

#[test]
fn damaged_watches_give_the_same_events_in_every_chunking() {
    let mut seeded = Seeded(0xFACE);
    for _ in 0..ROUNDS {
        let bytes = damage(&mut seeded, WATCH);
        let whole = events(&[Bytes::copy_from_slice(&bytes)]);
        assert_eq!(events(&chunks(&bytes, &[1 + seeded.below(9), 1 + seeded.below(50)])), whole);
    }
}

#[test]
fn damaged_gzip_never_passes_its_limits() {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(LIST).unwrap();
    let member = encoder.finish().unwrap();
    let body = [&member[..], &member].concat();
    let mut seeded = Seeded(0xD15EA5E);
    for _ in 0..ROUNDS {
        let bytes = damage(&mut seeded, &body);
        let mut gzip = GzipMembers::new(Limits::default().member_bytes(2_000));
        let mut plain = 0;
        'body: for piece in chunks(&bytes, &[1 + seeded.below(400)]) {
            gzip.push(piece);
            loop {
                match gzip.next_chunk() {
                    Ok(Some(chunk)) => plain += chunk.len(),
                    Ok(None) => break,
                    Err(_) => break 'body,
                }
            }
        }
        assert!(plain <= 2_000 * (bytes.len() / 18 + 1));
        let _ = gzip.finish();
    }
}
