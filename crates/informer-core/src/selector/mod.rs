//! Label selectors in Kubernetes' own notation.

mod parse;

use std::collections::BTreeSet;
use std::fmt;

pub use parse::{SelectorParseError, SelectorParseErrorKind};

/// A label selector: requirements that all have to hold; without any, everything matches.
///
/// Parsed from what `kubectl -l` takes: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, `a>1`, `a<1`,
/// separated by commas. As in Kubernetes, `!=` and `notin` match an object without the label. Requirements are kept
/// sorted and each once, so that selectors that differ only in order or spelling are equal; [`Display`](fmt::Display)
/// gives text that parses to an equal selector.
///
/// ```
/// use informer_core::Selector;
/// let selector: Selector = "tier notin (cache), app == web".parse()?;
/// assert!(selector.matches(|key| (key == "app").then_some("web")));
/// assert!(!selector.matches(|_| None));
/// assert_eq!(selector.to_string(), "app=web,tier!=cache");
/// assert_eq!("app=".parse::<Selector>()?, "app in ()".parse()?);
/// let error = "app=we b".parse::<Selector>().unwrap_err();
/// assert_eq!(error.position(), 7);
/// # Ok::<(), informer_core::SelectorParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Selector {
    /// Sorted, each once.
    requirements: Box<[Requirement]>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Requirement {
    key: Box<str>,
    condition: Condition,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Condition {
    Exists,
    DoesNotExist,
    /// The values are sorted, each once, and not empty. One value is printed as an equation.
    In(BTreeSet<Box<str>>),
    NotIn(BTreeSet<Box<str>>),
    Greater(i64),
    Less(i64),
}

impl Selector {
    /// The selector that everything matches; it is the default, too.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Whether everything matches, since nothing is required.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected; `lookup` gives the value of a label, `None` if there is none.
    pub fn matches<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.condition.matches(lookup(&requirement.key)))
    }

    fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_unstable();
        requirements.dedup();
        Self { requirements: requirements.into() }
    }
}

impl Condition {
    fn matches(&self, value: Option<&str>) -> bool {
        match self {
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Self::Greater(bound) => value.and_then(integer).is_some_and(|value| value > *bound),
            Self::Less(bound) => value.and_then(integer).is_some_and(|value| value < *bound),
        }
    }
}

fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            fmt::Display::fmt(requirement, f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selector({self})")
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let (values, one, many) = match &self.condition {
            Condition::Exists => return f.write_str(key),
            Condition::DoesNotExist => return write!(f, "!{key}"),
            Condition::Greater(bound) => return write!(f, "{key}>{bound}"),
            Condition::Less(bound) => return write!(f, "{key}<{bound}"),
            Condition::In(values) => (values, "=", "in"),
            Condition::NotIn(values) => (values, "!=", "notin"),
        };
        if let (Some(value), 1) = (values.first(), values.len()) {
            return write!(f, "{key}{one}{value}");
        }
        write!(f, "{key} {many} (")?;
        for (position, value) in values.iter().enumerate() {
            f.write_str(if position > 0 { "," } else { "" })?;
            f.write_str(value)?;
        }
        f.write_str(")")
    }
}
