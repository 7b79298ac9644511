//! The selector grammar, and a naive evaluator beside it.

use informer_core::{Selector, SelectorParseErrorKind as Kind};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
    let selector: Selector = selector.parse().unwrap_or_else(|error| panic!("{selector:?}: {error}"));
    selector.matches(|key| labels.iter().find(|(own, _)| *own == key).map(|(_, value)| *value))
}

#[test]
fn operators_mean_what_kubernetes_says() {
    let labels = [("app", "web"), ("empty", ""), ("n", "5"), ("example.com/tier", "front"), ("in", "in")];
    for (selector, expected) in [
        ("", true),
        ("  ", true),
        ("app=web", true),
        ("app==web", true),
        (" app = web , n ", true),
        ("app=", false),
        ("empty=", true),
        ("empty=,app", true),
        ("app!=web", false),
        ("missing!=web", true),
        ("missing=", false),
        ("app in (db, web)", true),
        ("app in(db)", false),
        ("app notin (db)", true),
        ("app notin (web)", false),
        ("missing notin (web)", true),
        ("missing in ()", false),
        ("empty in ()", true),
        ("empty in (a,)", true),
        ("app", true),
        ("!app", false),
        ("!missing", true),
        ("! missing", true),
        ("example.com/tier=front", true),
        ("in in (in,notin)", true),
        ("in", true),
        ("n>4", true),
        ("n>5", false),
        ("n<6,n>4", true),
        ("app>1", false),
        ("missing<1", false),
        ("app=web,app=db", false),
        ("APP=web", false),
    ] {
        assert_eq!(selects(selector, &labels), expected, "{selector:?}");
    }
}

#[test]
fn errors_name_the_place() {
    for (text, position, kind) in [
        (",", 0, Kind::ExpectedKey),
        ("a,", 2, Kind::ExpectedKey),
        ("a,,b", 2, Kind::ExpectedKey),
        ("=b", 0, Kind::ExpectedKey),
        ("!", 1, Kind::ExpectedKey),
        ("!!a", 1, Kind::ExpectedKey),
        ("a b", 2, Kind::ExpectedOperator),
        ("a (b)", 2, Kind::ExpectedOperator),
        ("a IN (b)", 2, Kind::ExpectedOperator),
        ("a=b c", 4, Kind::ExpectedComma),
        ("!a=b", 2, Kind::ExpectedComma),
        ("a in (b) c", 9, Kind::ExpectedComma),
        ("a=!b", 2, Kind::ExpectedValue),
        ("a===b", 3, Kind::ExpectedValue),
        ("a in b", 5, Kind::ExpectedOpenParenthesis),
        ("a in", 4, Kind::ExpectedOpenParenthesis),
        ("a in (b", 7, Kind::ExpectedCloseParenthesis),
        ("a in (b c)", 8, Kind::ExpectedCloseParenthesis),
        ("-a", 0, Kind::InvalidKey),
        ("a/b/c", 0, Kind::InvalidKey),
        ("/a", 0, Kind::InvalidKey),
        ("Upper.case/a", 0, Kind::InvalidKey),
        ("a..b/c", 0, Kind::InvalidKey),
        ("ключ", 0, Kind::InvalidKey),
        ("a= -b", 3, Kind::InvalidValue),
        ("a in (b,c.)", 8, Kind::InvalidValue),
        ("a=b/c", 2, Kind::InvalidValue),
        ("a=\u{a0}", 2, Kind::InvalidValue),
        ("a>b", 2, Kind::InvalidNumber),
        ("a>", 2, Kind::InvalidNumber),
        ("a<99999999999999999999", 2, Kind::InvalidNumber),
    ] {
        let error = text.parse::<Selector>().map(|own| own.to_string()).expect_err(text);
        assert_eq!((error.position(), error.kind()), (position, kind), "{text:?}");
        assert!(error.to_string().contains(&format!("byte {position}")));
    }
}

#[test]
fn lengths_are_limited_as_in_kubernetes() {
    let fits = |text: String| text.parse::<Selector>().is_ok();
    assert!(fits("a".repeat(63)) && !fits("a".repeat(64)));
    assert!(fits(format!("k={}", "v".repeat(63))) && !fits(format!("k={}", "v".repeat(64))));
    let prefix = |len: usize| format!("{}/k", "a".repeat(len));
    assert!(fits(prefix(253)) && !fits(prefix(254)));
}

#[test]
fn spelling_and_order_make_no_difference() {
    let parse = |text: &str| text.parse::<Selector>().unwrap();
    assert_eq!(parse("b==2,a=1,b=2"), parse("a = 1, b in (2)"));
    assert_eq!(parse("a notin (x)"), parse("a!=x"));
    assert_eq!(parse("a in (y,x,y)").to_string(), "a in (x,y)");
    assert_ne!(parse("a"), parse("!a"));
    assert!(parse("").is_everything() && !parse("a").is_everything());
    assert_eq!(Selector::everything(), parse(""));
}

/// A requirement before it is text.
#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    operator: &'static str,
    values: Vec<String>,
}

impl Requirement {
    fn text(&self) -> String {
        let Self { key, operator, values } = self;
        match *operator {
            "exists" => key.clone(),
            "absent" => format!("!{key}"),
            "in" | "notin" => format!("{key} {operator} ({})", values.join(" , ")),
            _ => format!("{key}{operator}{}", values[0]),
        }
    }

    fn holds(&self, value: Option<&String>) -> bool {
        let listed = value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            "exists" => value.is_some(),
            "absent" => value.is_none(),
            "in" => listed,
            "notin" => !listed,
            "=" | "==" => value == Some(&self.values[0]),
            "!=" => value != Some(&self.values[0]),
            other => unreachable!("{other}"),
        }
    }
}

fn label() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]", r"x\.y/[ab]", "in", "notin"]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]?", "[a-c][-_.][0-9]", "in"]
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let operator = prop::sample::select(vec!["exists", "absent", "in", "notin", "=", "==", "!="]);
    (label(), operator, vec(value(), 1..4)).prop_map(|(key, operator, values)| Requirement {
        key,
        operator,
        values,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matches_what_a_naive_evaluator_matches(
        requirements in vec(requirement(), 0..4),
        labels in btree_map(label(), value(), 0..4),
    ) {
        let text = requirements.iter().map(Requirement::text).collect::<Vec<_>>().join(",");
        let selector: Selector = text.parse().unwrap();
        let expected = requirements.iter().all(|requirement| requirement.holds(labels.get(&requirement.key)));
        prop_assert_eq!(selector.matches(|key| labels.get(key).map(|value| &**value)), expected, "{}", text);
        prop_assert_eq!(selector.to_string().parse::<Selector>().unwrap(), selector);
    }

    #[test]
    fn any_text_parses_to_itself_or_fails_inside_it(text in "[ab/.,()=!<> 0-9in-]{0,24}|.{0,24}") {
        match text.parse::<Selector>() {
            Ok(selector) => prop_assert_eq!(selector.to_string().parse::<Selector>().unwrap(), selector),
            Err(error) => prop_assert!(error.position() <= text.len() && text.is_char_boundary(error.position())),
        }
    }
}
