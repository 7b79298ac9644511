//! Random JSON texts: any key order, any whitespace, any way to escape.
#![allow(dead_code, unreachable_pub)] // Each test file uses a part of this.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

/// JSON with its keys in an order of its own, and with nothing that hides duplicates.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Raw(&'static str),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

pub fn text(text: &str) -> Node {
    Node::Text(text.to_owned())
}

pub fn object<const N: usize>(entries: [(&str, Node); N]) -> Node {
    Node::Object(entries.into_iter().map(|(key, node)| (key.to_owned(), node)).collect())
}

/// How to write a node.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub indented: bool,
    /// Escape everything that can be escaped as `\uXXXX`.
    pub escaped: bool,
}

pub fn any_style() -> impl Strategy<Value = Style> {
    (any::<bool>(), prop::bool::weighted(0.2)).prop_map(|(indented, escaped)| Style { indented, escaped })
}

pub fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,8}",
        "[{}\\[\\]\",:\\\\ ]{0,12}",
        "[\\x00-\\x1fä名🚀\"\\\\]{0,6}",
        Just("metadata".to_owned()),
        Just("items".to_owned()),
        Just("managedFields".to_owned()),
        Just("x".repeat(70)),
    ]
}

pub fn any_node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false", "0", "-12.5e-3", "{}", "[]"]).prop_map(Node::Raw),
        any_text().prop_map(Node::Text),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Node::Array),
            vec((any_text(), inner), 0..5).prop_map(|entries| Node::Object(without_duplicates(entries))),
        ]
    })
}

pub fn without_duplicates(entries: Vec<(String, Node)>) -> Vec<(String, Node)> {
    let mut kept: Vec<(String, Node)> = Vec::new();
    for entry in entries {
        if kept.iter().all(|(key, _)| *key != entry.0) {
            kept.push(entry);
        }
    }
    kept
}

/// Chunk lengths, used over and over.
pub fn any_chunking() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![vec(1usize..9, 1..6), vec(1usize..200, 1..6), Just(vec![usize::MAX])]
}

pub fn chunks(bytes: &[u8], lengths: &[usize]) -> Vec<Bytes> {
    let (mut rest, mut pieces) = (bytes, Vec::new());
    for &len in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, more) = rest.split_at(len.min(rest.len()));
        pieces.push(Bytes::copy_from_slice(piece));
        rest = more;
    }
    pieces
}

impl Node {
    pub fn write(&self, style: Style) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_to(&mut out, style, 0);
        out
    }

    fn write_to(&self, out: &mut Vec<u8>, style: Style, level: usize) {
        let line = |out: &mut Vec<u8>, level: usize| {
            if style.indented {
                out.extend_from_slice(b"\r\n\t");
                out.extend(std::iter::repeat_n(b' ', level));
            }
        };
        match self {
            Self::Raw(raw) => out.extend_from_slice(raw.as_bytes()),
            Self::Text(text) => write_text(out, text, style),
            Self::Array(nodes) => {
                out.push(b'[');
                for (i, node) in nodes.iter().enumerate() {
                    out.extend_from_slice(if i == 0 { b"" } else { b"," });
                    line(out, level + 1);
                    node.write_to(out, style, level + 1);
                }
                line(out, level);
                out.push(b']');
            }
            Self::Object(entries) => {
                out.push(b'{');
                for (i, (key, node)) in entries.iter().enumerate() {
                    out.extend_from_slice(if i == 0 { b"" } else { b"," });
                    line(out, level + 1);
                    write_text(out, key, style);
                    out.extend_from_slice(if style.indented { b" : " } else { b":" });
                    node.write_to(out, style, level + 1);
                }
                line(out, level);
                out.push(b'}');
            }
        }
    }
}

fn write_text(out: &mut Vec<u8>, text: &str, style: Style) {
    if !style.escaped {
        out.extend(serde_json::to_vec(text).expect("a string"));
        return;
    }
    out.push(b'"');
    for unit in text.encode_utf16() {
        out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
    }
    out.push(b'"');
}

/// Xorshift: enough to choose what to damage, the same on every run.
pub struct Seeded(pub u64);

impl Seeded {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
