//! The list splitter against serde_json, in every chunking.

mod common;

use bytes::Bytes;
use common::{Node, any_chunking, any_node, any_style, any_text, chunks, text, without_duplicates};
use informer_wire::{Limits, ListEnd, ListSplitter, WireError, WireErrorKind};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

fn split(pieces: &[Bytes], limits: Limits) -> Result<(Vec<Bytes>, ListEnd), WireError> {
    let mut list = ListSplitter::new(limits);
    let mut items = Vec::new();
    for piece in pieces {
        list.push(piece.clone());
        while let Some(item) = list.next_item()? {
            items.push(item);
        }
    }
    Ok((items, list.finish()?))
}

fn split_text(text: &str) -> Result<(Vec<Bytes>, ListEnd), WireError> {
    split(&[Bytes::copy_from_slice(text.as_bytes())], Limits::default())
}

fn kind_of(text: &str) -> WireErrorKind {
    split_text(text).unwrap_err().kind()
}

fn any_list() -> impl Strategy<Value = Node> {
    let metadata =
        (any_text(), any_text(), vec((any_text(), any_node()), 0..3)).prop_map(|(rv, token, more)| {
            let mut entries = vec![
                ("resourceVersion".to_owned(), Node::Text(rv)),
                ("continue".to_owned(), Node::Text(token)),
                ("remainingItemCount".to_owned(), Node::Raw("17")),
            ];
            entries.extend(more);
            Node::Object(without_duplicates(entries))
        });
    let items = prop_oneof![
        8 => vec(any_node(), 0..6).prop_map(Node::Array),
        1 => Just(Node::Raw("null")),
    ];
    (items, metadata, any_text(), vec((any_text(), any_node()), 0..4))
        .prop_map(|(items, metadata, kind, more)| {
            let mut entries = vec![
                ("items".to_owned(), items),
                ("metadata".to_owned(), metadata),
                ("kind".to_owned(), Node::Text(kind)),
                ("apiVersion".to_owned(), text("v1")),
            ];
            entries.extend(more);
            without_duplicates(entries)
        })
        .prop_flat_map(|entries| Just(entries).prop_shuffle())
        .prop_map(Node::Object)
}

fn texts(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

proptest! {
    #[test]
    fn pieces_are_the_items_serde_json_reads(list in any_list(), style in any_style(), lengths in any_chunking()) {
        let body = list.write(style);
        let want: Value = serde_json::from_slice(&body).unwrap();
        let (items, end) = split(&chunks(&body, &lengths), Limits::default()).unwrap();
        let items: Vec<Value> = items.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
        prop_assert_eq!(&items, &want["items"].as_array().cloned().unwrap_or_default());
        prop_assert_eq!(end.items, items.len() as u64);
        prop_assert_eq!(end.kind, texts(&want["kind"]));
        prop_assert_eq!(end.api_version, texts(&want["apiVersion"]));
        prop_assert_eq!(end.resource_version, texts(&want["metadata"]["resourceVersion"]));
        prop_assert_eq!(end.continue_token, texts(&want["metadata"]["continue"]));
        prop_assert_eq!(end.remaining_item_count, Some(17));
    }

    #[test]
    fn every_prefix_of_a_list_is_truncated(list in any_list(), style in any_style(), cut in any::<prop::sample::Index>()) {
        let body = list.write(style);
        let cut = cut.index(body.len());
        let error = split(&[Bytes::copy_from_slice(&body[..cut])], Limits::default()).unwrap_err();
        prop_assert!(error.is_truncated());
        prop_assert_eq!(error.offset(), cut as u64);
    }
}

const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"ä\"}]"}},{"items":[1,{}]} , "x",7],"metadata":{"resourceVersion":"221","continue":"eyJ2","remainingItemCount":4}}"#;

#[test]
fn any_two_splits_give_the_same_items() {
    let body = Bytes::from_static(LIST.as_bytes());
    let want = split(std::slice::from_ref(&body), Limits::default()).unwrap();
    assert_eq!(want.0.len(), 4);
    assert_eq!(want.1.resource_version.as_deref(), Some("221"));
    for first in 0..body.len() {
        for second in first..body.len() {
            let pieces = [body.slice(..first), body.slice(first..second), body.slice(second..)];
            assert_eq!(split(&pieces, Limits::default()).unwrap(), want, "split at {first} and {second}");
        }
    }
}

#[test]
fn items_within_a_chunk_are_slices_of_it() {
    let body = Bytes::from_static(LIST.as_bytes());
    let (items, _) = split(std::slice::from_ref(&body), Limits::default()).unwrap();
    let span = body.as_ptr_range();
    assert!(items.iter().all(|item| span.contains(&item.as_ptr())));
}

#[test]
fn absent_null_and_empty_items_are_no_items() {
    for body in [r#"{"metadata":{}}"#, r#"{"items":null,"metadata":null}"#, r#" { "items" : [ ] } "#, "{}"] {
        let (items, end) = split_text(body).unwrap();
        assert_eq!((items.len(), end), (0, ListEnd::default()), "{body}");
    }
}

#[test]
fn a_status_or_table_shows_its_kind_and_no_items() {
    let (items, end) = split_text(
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","details":{"items":[1]},"code":410}"#,
    )
    .unwrap();
    assert_eq!((items.len(), end.kind.as_deref()), (0, Some("Status")));

    let mut list = ListSplitter::new(Limits::default());
    list.push(Bytes::from_static(br#"{"kind":"Table","rows":[{"items":[1,2]},"#));
    assert_eq!(list.next_item().unwrap(), None);
    assert_eq!(list.kind(), Some("Table"));
}

#[test]
fn malformed_lists_are_refused() {
    let expected = |expected| WireErrorKind::Unexpected { expected };
    assert_eq!(kind_of(r#"{"items":[1]} x"#), WireErrorKind::TrailingBytes);
    assert_eq!(kind_of(r#"{"items":[1]}{}"#), WireErrorKind::TrailingBytes);
    assert_eq!(kind_of(r#"{"items":[],"items":[]}"#), WireErrorKind::DuplicateKey { key: "items" });
    assert_eq!(kind_of(r#"{"items":[],"it\u0065ms":[]}"#), WireErrorKind::DuplicateKey { key: "items" });
    assert_eq!(
        kind_of(r#"{"metadata":{"resourceVersion":"1","resourceVersion":"2"}}"#),
        WireErrorKind::DuplicateKey { key: "resourceVersion" }
    );
    assert_eq!(kind_of("[]"), expected("{"));
    assert_eq!(kind_of("<html>"), expected("{"));
    assert_eq!(kind_of(r#"{"items":[1,]}"#), expected("a value"));
    assert_eq!(kind_of(r#"{"items":[,1]}"#), expected("a value"));
    assert_eq!(kind_of(r#"{"items":[1 2]}"#), expected(", or ]"));
    assert_eq!(kind_of(r#"{"items":[1}"#), expected(", or ]"));
    assert_eq!(kind_of(r#"{"items":[]]"#), expected(", or }"));
    assert_eq!(kind_of(r#"{"kind":"A",}"#), expected("a key"));
    assert_eq!(kind_of(r#"{"kind" "A"}"#), expected(":"));
    assert_eq!(kind_of(r#"{kind:1}"#), expected("a key"));
    let wrong = |key, expected| WireErrorKind::WrongType { key, expected };
    assert_eq!(kind_of(r#"{"items":{}}"#), wrong("items", "an array"));
    assert_eq!(kind_of(r#"{"metadata":[]}"#), wrong("metadata", "an object"));
    assert_eq!(kind_of(r#"{"kind":1}"#), wrong("kind", "a string"));
    assert_eq!(kind_of(r#"{"metadata":{"resourceVersion":5}}"#), wrong("resourceVersion", "a string"));
    assert_eq!(kind_of(r#"{"metadata":{"remainingItemCount":-5}}"#), wrong("remainingItemCount", "a count"));
}

#[test]
fn errors_carry_the_offset_in_the_body_and_stay() {
    let mut list = ListSplitter::new(Limits::default());
    for piece in [r#"{"items""#, r#":[1"#, "!"] {
        list.push(Bytes::from(piece));
        let _ = list.next_item();
    }
    let error = list.next_item().unwrap_err();
    assert_eq!(error.offset(), 11);
    list.push(Bytes::from_static(b"more"));
    assert_eq!(list.next_item().unwrap_err(), error);
    assert_eq!(list.finish().unwrap_err(), error);
}

#[test]
fn items_and_metadata_have_limits_whatever_the_chunks() {
    let limits = Limits::default().item_bytes(10).metadata_bytes(30);
    let long_item = r#"{"items":["12345678","123456789"]}"#;
    let long_metadata = r#"{"metadata":{"resourceVersion":"1234567890"}}"#;
    for len in 1..long_metadata.len() {
        let error = split(&chunks(long_item.as_bytes(), &[len]), limits.clone()).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (WireErrorKind::TooLong { limit: 10 }, 21));
        assert_eq!(error.place(), "list item");
        let error = split(&chunks(long_metadata.as_bytes(), &[len]), limits.clone()).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (WireErrorKind::TooLong { limit: 30 }, 12));
        assert!(error.is_limit() && !error.is_malformed());
    }
}

#[test]
fn an_endless_item_fails_once_it_passes_the_limit() {
    let mut list = ListSplitter::new(Limits::default().item_bytes(1 << 20));
    list.push(Bytes::from_static(b"{\"items\":[\""));
    let chunk = Bytes::from(vec![b'a'; 64 << 10]);
    let mut pushed = 0;
    let error = loop {
        list.push(chunk.clone());
        pushed += chunk.len();
        match list.next_item() {
            Ok(None) => assert!(pushed < 1 << 20),
            other => break other.unwrap_err(),
        }
    };
    assert!(error.is_limit());
    // The quote before them makes one byte too many.
    assert_eq!(pushed, 1 << 20);
}

#[test]
fn depth_bombs_are_refused_at_once() {
    let bomb = format!(r#"{{"items":[{}"#, "[".repeat(1_000_000));
    assert_eq!(kind_of(&bomb), WireErrorKind::TooDeep { limit: 128 });
    let bomb = format!(r#"{{"x":{}"#, r#"{"a":"#.repeat(1_000_000));
    assert_eq!(kind_of(&bomb), WireErrorKind::TooDeep { limit: 128 });
    let deep = format!(r#"{{"items":[{}{}]}}"#, "[".repeat(128), "]".repeat(128));
    assert_eq!(split_text(&deep).unwrap().0.len(), 1);
}

#[test]
fn finishing_before_taking_the_items_is_told() {
    let mut list = ListSplitter::new(Limits::default());
    list.push(Bytes::from_static(br#"{"items":[1]}"#));
    assert_eq!(list.finish().unwrap_err().kind(), WireErrorKind::Undrained);
}
