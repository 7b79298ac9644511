//! The selector grammar.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::{Condition, Requirement, Selector, integer};

/// Text that is not a label selector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SelectorParseError {
    position: usize,
    kind: SelectorParseErrorKind,
}

/// What is wrong with a label selector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SelectorParseErrorKind {
    /// A label's key, or `!` and a key, must stand here.
    ExpectedKey,
    /// An operator, a comma or the end must stand here.
    ExpectedOperator,
    /// A comma or the end must stand here.
    ExpectedComma,
    /// A value must stand here.
    ExpectedValue,
    /// A list of values in parentheses must stand here.
    ExpectedOpenParenthesis,
    /// A value, a comma or a closing parenthesis must stand here.
    ExpectedCloseParenthesis,
    /// A key is a name of at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends; a DNS
    /// subdomain of at most 253 characters and `/` may come before it.
    InvalidKey,
    /// A value is empty or has at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
    InvalidValue,
    /// `<` and `>` compare with a whole number that fits 64 bits.
    InvalidNumber,
}

impl SelectorParseError {
    /// Where, in bytes from the start.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What is wrong there.
    pub fn kind(&self) -> SelectorParseErrorKind {
        self.kind
    }
}

impl fmt::Display for SelectorParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SelectorParseErrorKind as Kind;
        let what = match self.kind {
            Kind::ExpectedKey => "expected a label key",
            Kind::ExpectedOperator => "expected `=`, `==`, `!=`, `in`, `notin`, `<`, `>`, `,` or the end",
            Kind::ExpectedComma => "expected `,` or the end",
            Kind::ExpectedValue => "expected a value",
            Kind::ExpectedOpenParenthesis => "expected `(`",
            Kind::ExpectedCloseParenthesis => "expected a value, `,` or `)`",
            Kind::InvalidKey => "not a valid label key",
            Kind::InvalidValue => "not a valid label value",
            Kind::InvalidNumber => "expected a whole number of at most 64 bits",
        };
        write!(f, "invalid label selector at byte {}: {what}", self.position)
    }
}

impl std::error::Error for SelectorParseError {}

impl FromStr for Selector {
    type Err = SelectorParseError;

    fn from_str(text: &str) -> Result<Self, SelectorParseError> {
        let mut parser = Parser { text, at: 0 };
        let mut requirements = Vec::new();
        if parser.peek().0 == Token::End {
            return Ok(Self::default());
        }
        loop {
            requirements.push(parser.requirement()?);
            match parser.next() {
                (Token::End, _) => return Ok(Self::new(requirements)),
                (Token::Comma, _) => {}
                (_, position) => return Err(error(position, SelectorParseErrorKind::ExpectedComma)),
            }
        }
    }
}

fn error(position: usize, kind: SelectorParseErrorKind) -> SelectorParseError {
    SelectorParseError { position, kind }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    End,
    Comma,
    Open,
    Close,
    Not,
    Equals,
    NotEquals,
    Greater,
    Less,
    /// A key, value or word operator: only the place where it stands says which.
    Word(&'a str),
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn requirement(&mut self) -> Result<Requirement, SelectorParseError> {
        let absent = self.peek().0 == Token::Not;
        if absent {
            self.next();
        }
        let key = match self.next() {
            (Token::Word(word), _) if is_key(word) => Ok(word),
            (Token::Word(_), position) => Err(error(position, SelectorParseErrorKind::InvalidKey)),
            (_, position) => Err(error(position, SelectorParseErrorKind::ExpectedKey)),
        }?;
        let condition = if absent { Condition::DoesNotExist } else { self.condition()? };
        Ok(Requirement { key: key.into(), condition })
    }

    fn condition(&mut self) -> Result<Condition, SelectorParseError> {
        let (operator, position) = self.peek();
        if matches!(operator, Token::End | Token::Comma) {
            return Ok(Condition::Exists);
        }
        self.next();
        match operator {
            Token::Equals => Ok(Condition::In(BTreeSet::from([self.value()?]))),
            Token::NotEquals => Ok(Condition::NotIn(BTreeSet::from([self.value()?]))),
            Token::Greater => Ok(Condition::Greater(self.number()?)),
            Token::Less => Ok(Condition::Less(self.number()?)),
            Token::Word("in") => Ok(Condition::In(self.values()?)),
            Token::Word("notin") => Ok(Condition::NotIn(self.values()?)),
            _ => Err(error(position, SelectorParseErrorKind::ExpectedOperator)),
        }
    }

    /// A value after an operator, which may be empty.
    fn value(&mut self) -> Result<Box<str>, SelectorParseError> {
        match self.peek() {
            (Token::End | Token::Comma, _) => Ok("".into()),
            (Token::Word(word), position) => {
                self.next();
                checked_value(word, position)
            }
            (_, position) => Err(error(position, SelectorParseErrorKind::ExpectedValue)),
        }
    }

    fn number(&mut self) -> Result<i64, SelectorParseError> {
        let (_, position) = self.peek();
        integer(&self.value()?).ok_or(error(position, SelectorParseErrorKind::InvalidNumber))
    }

    /// `(a,b)`; nothing between two commas or parentheses is the empty value.
    fn values(&mut self) -> Result<BTreeSet<Box<str>>, SelectorParseError> {
        let (Token::Open, _) = self.peek() else {
            return Err(error(self.peek().1, SelectorParseErrorKind::ExpectedOpenParenthesis));
        };
        self.next();
        let mut values = BTreeSet::new();
        loop {
            let value = match self.peek() {
                (Token::Word(word), position) => {
                    self.next();
                    checked_value(word, position)?
                }
                _ => "".into(),
            };
            values.insert(value);
            match self.next() {
                (Token::Comma, _) => {}
                (Token::Close, _) => return Ok(values),
                (_, position) => {
                    return Err(error(position, SelectorParseErrorKind::ExpectedCloseParenthesis));
                }
            }
        }
    }

    fn peek(&self) -> (Token<'a>, usize) {
        let (token, position, _) = self.scan();
        (token, position)
    }

    fn next(&mut self) -> (Token<'a>, usize) {
        let (token, position, end) = self.scan();
        self.at = end;
        (token, position)
    }

    /// The next token, where it begins and where it ends.
    fn scan(&self) -> (Token<'a>, usize, usize) {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\r', '\n']);
        let start = self.text.len() - rest.len();
        let mut bytes = rest.bytes();
        let (token, len) = match (bytes.next(), bytes.next()) {
            (None, _) => (Token::End, 0),
            (Some(b','), _) => (Token::Comma, 1),
            (Some(b'('), _) => (Token::Open, 1),
            (Some(b')'), _) => (Token::Close, 1),
            (Some(b'>'), _) => (Token::Greater, 1),
            (Some(b'<'), _) => (Token::Less, 1),
            (Some(b'='), Some(b'=')) => (Token::Equals, 2),
            (Some(b'='), _) => (Token::Equals, 1),
            (Some(b'!'), Some(b'=')) => (Token::NotEquals, 2),
            (Some(b'!'), _) => (Token::Not, 1),
            _ => {
                let special = [' ', '\t', '\r', '\n', ',', '(', ')', '<', '>', '=', '!'];
                let word = &rest[..rest.find(special).unwrap_or(rest.len())];
                (Token::Word(word), word.len())
            }
        };
        (token, start, start + len)
    }
}

fn checked_value(word: &str, position: usize) -> Result<Box<str>, SelectorParseError> {
    match is_name(word) {
        true => Ok(word.into()),
        false => Err(error(position, SelectorParseErrorKind::InvalidValue)),
    }
}

/// `name` or `dns.subdomain/name`.
fn is_key(word: &str) -> bool {
    match word.split_once('/') {
        None => is_name(word),
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
    }
}

/// The longest name of a label, and the longest value.
const MAX_NAME: usize = 63;
/// The longest DNS subdomain that Kubernetes takes.
const MAX_SUBDOMAIN: usize = 253;

fn is_name(word: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    word.len() <= MAX_NAME
        && ends(word.bytes().next())
        && ends(word.bytes().last())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_subdomain(word: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_label = |label: &str| {
        ends(label.bytes().next())
            && ends(label.bytes().last())
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    word.len() <= MAX_SUBDOMAIN && word.split('.').all(is_label)
}
