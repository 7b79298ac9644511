//! Label and field selectors, with the error messages of the recorded server.

use serde_json::Value;

use crate::registry::Resource;
use crate::status::ApiError;
use crate::storage::Stored;

/// What a request selects.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: Vec<LabelRequirement>,
    fields: Vec<FieldRequirement>,
}

#[derive(Debug, Clone)]
struct LabelRequirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    NotExists,
    Greater(i64),
    Less(i64),
}

#[derive(Debug, Clone)]
struct FieldRequirement {
    field: String,
    value: String,
    equal: bool,
}

impl Selector {
    /// Reads both selectors of a request.
    pub(crate) fn parse(resource: &Resource, labels: &str, fields: &str) -> Result<Self, ApiError> {
        Ok(Self {
            labels: parse_labels(labels).map_err(|problem| {
                ApiError::bad_request(format!("unable to parse requirement: {problem}"))
            })?,
            fields: parse_fields(resource, fields)?,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.iter().all(|requirement| requirement.matches(object.label(&requirement.key)))
            && self.fields.iter().all(|requirement| {
                let value = match requirement.field.as_str() {
                    "metadata.name" => object.name(),
                    "metadata.namespace" => object.namespace(),
                    other => object.fields.iter().find(|(name, _)| **name == *other).map_or("", |(_, v)| v),
                };
                (value == requirement.value) == requirement.equal
            })
    }
}

impl LabelRequirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.iter().any(|known| known == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|known| known != value)),
            Test::Exists => value.is_some(),
            Test::NotExists => value.is_none(),
            Test::Greater(limit) => number().is_some_and(|number| number > *limit),
            Test::Less(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'static str),
    End,
}

/// Splits a label selector; `==`, `!=` and the like are one token each.
fn tokens(text: &str) -> Vec<Token<'_>> {
    const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            out.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "=!(),<>".contains(c)).unwrap_or(rest.len());
            out.push(Token::Word(&rest[..end]));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    out.push(Token::End);
    out
}

impl Token<'_> {
    fn text(&self) -> &str {
        match self {
            Token::Word(word) => word,
            Token::Symbol(symbol) => symbol,
            Token::End => "",
        }
    }
}

fn parse_labels(text: &str) -> Result<Vec<LabelRequirement>, String> {
    let tokens = tokens(text);
    let mut parser = Parser { tokens: &tokens, at: 0 };
    let mut requirements = Vec::new();
    if parser.peek() == &Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(parser.requirement()?);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => {
                if matches!(parser.peek(), Token::End | Token::Symbol(",")) {
                    return Err(format!("found '{}', expected: identifier after ','", parser.peek().text()));
                }
            }
            other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
        }
    }
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token<'a> {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> &'a Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn word(&mut self) -> Result<&'a str, String> {
        match self.next() {
            Token::Word(word) => Ok(word),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        if self.peek() == &Token::Symbol("!") {
            self.next();
            let key = label_key(self.word()?)?;
            return Ok(LabelRequirement { key, test: Test::NotExists });
        }
        let key = label_key(match self.next() {
            Token::Word(word) => word,
            other => {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
            }
        })?;
        let test = match self.peek() {
            Token::End | Token::Symbol(",") => Test::Exists,
            Token::Symbol("=" | "==") => Test::In(vec![self.value()?]),
            Token::Symbol("!=") => Test::NotIn(vec![self.value()?]),
            Token::Symbol(">") => Test::Greater(self.number()?),
            Token::Symbol("<") => Test::Less(self.number()?),
            Token::Word("in") => Test::In(self.values()?),
            Token::Word("notin") => Test::NotIn(self.values()?),
            other => {
                return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text()));
            }
        };
        Ok(LabelRequirement { key, test })
    }

    /// The value behind an operator; nothing there means the empty value.
    fn value(&mut self) -> Result<String, String> {
        self.next();
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            _ => label_value(self.word()?),
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        self.next();
        self.word()?.parse().map_err(|_| "for 'Gt', 'Lt' operators, the value must be an integer".to_owned())
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        self.next();
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Word(word) => values.push(label_value(word)?),
                // An empty element is the empty value.
                Token::Symbol(",") => values.push(String::new()),
                Token::Symbol(")") => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    return Ok(values);
                }
                other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
            }
            match self.peek() {
                Token::Symbol(",") if matches!(values.last(), Some(last) if !last.is_empty()) => {
                    self.next();
                    if self.peek() == &Token::Symbol(")") {
                        values.push(String::new());
                    }
                }
                Token::Word(word) if matches!(values.last(), Some(last) if !last.is_empty()) => {
                    return Err(format!("found '{word}', expected: ',' or ')'"));
                }
                _ => {}
            }
        }
    }
}

fn label_key(word: &str) -> Result<String, String> {
    let name = word.split_once('/').map_or(word, |(_, name)| name);
    if valid_label_word(name) && !name.is_empty() && name.len() <= 63 {
        Ok(word.to_owned())
    } else {
        Err(format!(
            "key: Invalid value: {word:?}: name part must consist of alphanumeric characters, '-', '_' or '.'"
        ))
    }
}

fn label_value(word: &str) -> Result<String, String> {
    if valid_label_word(word) && word.len() <= 63 {
        Ok(word.to_owned())
    } else {
        Err(format!(
            "values[0][]: Invalid value: {word:?}: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"
        ))
    }
}

fn valid_label_word(word: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_none_or(|byte| byte.is_ascii_alphanumeric());
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && edge(word.bytes().next())
        && edge(word.bytes().last())
}

fn parse_fields(resource: &Resource, text: &str) -> Result<Vec<FieldRequirement>, ApiError> {
    let mut requirements = Vec::new();
    for term in text.split(',').filter(|term| !term.is_empty()) {
        let (field, value, equal) = if let Some((field, value)) = term.split_once("!=") {
            (field, value, false)
        } else if let Some((field, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
            (field, value, true)
        } else {
            return Err(ApiError::bad_request(format!(
                "invalid field selector: {text:?}; can't understand {term:?}"
            )));
        };
        let indexed = indexed_field_names(resource);
        let known =
            |name: &str| matches!(name, "metadata.name" | "metadata.namespace") || indexed.contains(&name);
        if !known(field) {
            return Err(ApiError::bad_request(unknown_field(resource, field, &indexed)));
        }
        requirements.push(FieldRequirement { field: field.into(), value: value.into(), equal });
    }
    Ok(requirements)
}

fn unknown_field(resource: &Resource, field: &str, indexed: &[&str]) -> String {
    if indexed.is_empty() {
        format!("\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    } else if resource.builtin {
        format!("field label not supported: {field}")
    } else {
        format!("field label not supported: {field}; supported: {}", indexed.join(", "))
    }
}

/// The field selectors of a kind, besides name and namespace.
fn indexed_field_names(resource: &Resource) -> Vec<&str> {
    if let Some(custom) = &resource.custom {
        return custom.selectable.iter().map(String::as_str).collect();
    }
    let fields: &[&str] = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("" | "events.k8s.io", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("", "secrets") => &["type"],
        ("", "namespaces") => &["status.phase"],
        ("", "nodes") => &["spec.unschedulable"],
        ("apps", "replicasets") | ("", "replicationcontrollers") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        _ => &[],
    };
    fields.to_vec()
}

/// The values of a kind's field selectors.
pub(crate) fn indexed_fields(resource: &Resource, object: &Value) -> Box<[(Box<str>, Box<str>)]> {
    indexed_field_names(resource)
        .into_iter()
        .filter_map(|field| {
            let path = match field {
                "status.successful" => "status.succeeded",
                "source" => "source.component",
                other => other,
            };
            let value =
                path.split('.').filter(|part| !part.is_empty()).fold(object, |value, part| &value[part]);
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                _ => match field {
                    "spec.hostNetwork" | "spec.unschedulable" => "false".into(),
                    "status.replicas" | "status.successful" => "0".into(),
                    _ => return None,
                },
            };
            Some((field.into(), text.into()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        parse_labels(selector).unwrap().iter().all(|requirement| {
            requirement
                .matches(labels.iter().find(|(key, _)| *key == requirement.key).map(|(_, value)| *value))
        })
    }

    #[test]
    fn label_grammar_selects() {
        let labels = [("app", "web"), ("tier", "a"), ("n", "7"), ("empty", "")];
        for yes in [
            "",
            "app",
            "app=web",
            "app==web",
            "app!=db",
            "none!=x",
            "!none",
            "app in (web,db)",
            "app in ( web )",
            "app notin (db, x)",
            "none notin (a)",
            "app,tier=a",
            "n>5",
            "n<8",
            "empty=",
            "empty in ()",
            "empty in (,x)",
            " app = web , tier in (a) ",
        ] {
            assert!(matches(yes, &labels), "{yes}");
        }
        for no in [
            "none",
            "app=db",
            "app!=web",
            "!app",
            "app in (db)",
            "app notin (web)",
            "n>7",
            "app,none",
            "app=",
        ] {
            assert!(!matches(no, &labels), "{no}");
        }
    }

    #[test]
    fn bad_label_selectors_are_told() {
        assert_eq!(parse_labels("a===b").unwrap_err(), "found '=', expected: identifier");
        for bad in ["a in", "a in (", "a in (b", ",a", "a,", "a b", "=x", "a!b", "-a", "a>x", "(", "a in b"] {
            assert!(parse_labels(bad).is_err(), "{bad}");
        }
    }
}
