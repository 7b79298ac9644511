//! Frames and events of a watch, in every chunking.

mod common;

use bytes::Bytes;
use common::{Node, Style, any_chunking, any_node, any_text, chunks, object, without_duplicates};
use informer_wire::{EventKind, Limits, ObjectMeta, WatchEvent, WatchFrames, WireError, WireErrorKind};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

fn frames(pieces: &[Bytes], limits: Limits) -> Result<(Vec<Bytes>, usize), WireError> {
    let mut frames = WatchFrames::new(limits);
    let mut lines = Vec::new();
    for piece in pieces {
        frames.push(piece.clone());
        while let Some(line) = frames.next_frame()? {
            lines.push(line);
        }
    }
    Ok((lines, frames.finish()))
}

fn parse(line: &str) -> Result<WatchEvent, WireErrorKind> {
    WatchEvent::parse(&Bytes::copy_from_slice(line.as_bytes())).map_err(|error| error.kind())
}

proptest! {
    #[test]
    fn frames_are_the_lines_that_are_not_blank(
        lines in vec("[a-zä{}\" \t\r]{0,20}", 0..8),
        tail in "[a-z]{0,8}",
        lengths in any_chunking(),
    ) {
        let body = lines.iter().map(|line| format!("{line}\n")).collect::<String>() + &tail;
        let (got, dropped) = frames(&chunks(body.as_bytes(), &lengths), Limits::default()).unwrap();
        let want: Vec<&str> = lines
            .iter()
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .filter(|line| !line.trim_matches([' ', '\t', '\r']).is_empty())
            .collect();
        prop_assert_eq!(got, want);
        prop_assert_eq!(dropped, tail.len());
    }

    #[test]
    fn type_and_object_are_found_in_any_order(
        content in vec((any_text(), any_node()), 0..6),
        more in vec((any_text(), any_node()), 0..3),
        kind in any_text(),
        escaped in any::<bool>(),
        flip in any::<bool>(),
    ) {
        let mut entries = vec![
            ("type".to_owned(), Node::Text(kind.clone())),
            ("object".to_owned(), Node::Object(without_duplicates(content))),
        ];
        entries.extend(more);
        let mut entries = without_duplicates(entries);
        if flip {
            entries.reverse();
        }
        let line = Node::Object(entries).write(Style { indented: false, escaped });
        let want: Value = serde_json::from_slice(&line).unwrap();
        let event = WatchEvent::parse(&Bytes::from(line));
        if kind.is_empty() {
            prop_assert_eq!(event.unwrap_err().kind(), WireErrorKind::MissingKey { key: "type" });
        } else {
            let event = event.unwrap();
            prop_assert_eq!(event.kind, EventKind::Unknown(kind.chars().take(64).collect()));
            prop_assert_eq!(&serde_json::from_slice::<Value>(&event.object).unwrap(), &want["object"]);
        }
    }
}

#[test]
fn lines_within_a_chunk_are_slices_of_it() {
    let body = Bytes::from_static(b"{\"a\":1}\n{\"b\":2}\n");
    let (lines, _) = frames(std::slice::from_ref(&body), Limits::default()).unwrap();
    assert!(lines.iter().all(|line| body.as_ptr_range().contains(&line.as_ptr())));
}

#[test]
fn the_known_types_are_known() {
    let kinds = [
        ("ADDED", EventKind::Added),
        ("MODIFIED", EventKind::Modified),
        ("DELETED", EventKind::Deleted),
        ("BOOKMARK", EventKind::Bookmark),
        ("ERROR", EventKind::Error),
        ("FOO", EventKind::Unknown("FOO".into())),
        ("added", EventKind::Unknown("added".into())),
    ];
    for (name, kind) in kinds {
        let event = parse(&format!(r#"{{"object":null,"type":"{name}"}}"#)).unwrap();
        assert_eq!((event.kind, &event.object[..]), (kind, &b"null"[..]));
    }
}

#[test]
fn lines_as_servers_write_them_are_guessed() {
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        let line = Bytes::from(format!(r#"{{"type":"{kind}","object":{{"metadata":{{"name":"a"}}}}}}"#));
        let guess = WatchEvent::guess(&line).unwrap();
        assert_eq!(Ok(&guess), WatchEvent::parse(&line).as_ref());
        assert!(line.as_ptr_range().contains(&guess.object.as_ptr()));
    }
}

#[test]
fn lines_of_another_look_are_not_guessed() {
    for line in [
        "",
        "{}",
        r#"{"type":"BOOKMARK","object":{}}"#,
        r#"{"type":"ERROR","object":{}}"#,
        r#"{"type":"ADDED2","object":{}}"#,
        r#"{"type":"ADDED","object":null}"#,
        r#"{"type":"ADDED","object":{}"#,
        r#"{"type":"ADDED","object":{}} "#,
        r#"{"type": "ADDED","object":{}}"#,
        r#"{"object":{},"type":"ADDED"}"#,
    ] {
        let guess = WatchEvent::guess(&Bytes::from_static(line.as_bytes()));
        let readable = guess.filter(|guess| ObjectMeta::scan_unnamed(&guess.object).is_ok());
        assert_eq!(readable, None, "{line}");
    }
}

#[test]
fn malformed_events_are_refused() {
    let wrong = |key, expected| Err(WireErrorKind::WrongType { key, expected });
    assert_eq!(parse(r#"{"type":"ADDED"}"#), Err(WireErrorKind::MissingKey { key: "object" }));
    assert_eq!(parse(r#"{"object":{}}"#), Err(WireErrorKind::MissingKey { key: "type" }));
    assert_eq!(parse(r#"{"type":null,"object":{}}"#), Err(WireErrorKind::MissingKey { key: "type" }));
    assert_eq!(parse(r#"{"type":1,"object":{}}"#), wrong("type", "a string"));
    assert_eq!(parse(r#"{"type":"ADDED","object":[]}"#), wrong("object", "an object"));
    assert_eq!(
        parse(r#"{"type":"ADDED","object":{},"type":"DELETED"}"#),
        Err(WireErrorKind::DuplicateKey { key: "type" })
    );
    assert_eq!(
        parse(r#"{"type":"ADDED","object":{},"object":{}}"#),
        Err(WireErrorKind::DuplicateKey { key: "object" })
    );
    assert_eq!(parse(r#"{"type":"ADDED","object":{"a":1}"#), Err(WireErrorKind::Truncated));
    assert_eq!(parse(r#"{"type":"ADDED","object":{}} {}"#), Err(WireErrorKind::TrailingBytes));
    assert_eq!(parse("upstream connect error"), Err(WireErrorKind::Unexpected { expected: "{" }));
}

#[test]
fn nested_type_and_object_mean_nothing() {
    let object = object([("type", Node::Raw("1")), ("object", Node::Raw("{}"))]);
    let object = String::from_utf8(object.write(Style { indented: false, escaped: false })).unwrap();
    let event = parse(&format!(r#"{{"x":{object},"type":"ADDED","object":{object}}}"#)).unwrap();
    assert_eq!(event.object, object.as_bytes());
}

#[test]
fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
    let limits = Limits::default().line_bytes(8);
    for len in 1..12 {
        let (lines, _) = frames(&chunks(b"1234\n12345678\n", &[len]), limits.clone()).unwrap();
        assert_eq!(lines, ["1234", "12345678"]);
        let error = frames(&chunks(b"1234\n123456789\n", &[len]), limits.clone()).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (WireErrorKind::TooLong { limit: 8 }, 5));
        assert_eq!(error.to_string(), "watch line at byte 5: longer than the limit of 8 bytes");
    }
}

#[test]
fn an_endless_line_fails_within_a_chunk_of_the_limit() {
    let mut frames = WatchFrames::new(Limits::default());
    let chunk = Bytes::from(vec![b'a'; 1 << 20]);
    for _ in 0..16 {
        frames.push(chunk.clone());
        assert_eq!(frames.next_frame().unwrap(), None);
    }
    frames.push(Bytes::from_static(b"a"));
    let error = frames.next_frame().unwrap_err();
    assert_eq!(error.kind(), WireErrorKind::TooLong { limit: 16 << 20 });
    frames.push(Bytes::from_static(b"\n{}\n"));
    assert_eq!(frames.next_frame().unwrap_err(), error);
    assert_eq!(frames.finish(), 0);
}

#[test]
fn a_whole_object_without_its_newline_is_dropped() {
    let (lines, dropped) = frames(&[Bytes::from_static(b"{}\n\r\n{\"a\":1}")], Limits::default()).unwrap();
    assert_eq!((lines.len(), dropped), (1, 7));
    assert_eq!(frames(&[Bytes::from_static(b"{}\n \r")], Limits::default()).unwrap().1, 0);
}
