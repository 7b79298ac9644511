//! The same values as serde_json's, on anything that is JSON; no panic on anything else.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_filter("JSON has no others", |number| number.is_finite()).prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
        "[\"\\\\\n\u{1}é🚀]{0,6}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map("[a-c\"\\\\]{0,3}|spec|status|phase|count", inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Something of everything that a projection may have.
#[derive(Deserialize, PartialEq, Debug)]
struct Few {
    spec: Option<Spec>,
    #[serde(default)]
    status: BTreeMap<String, serde_json::Value>,
    phase: Option<Phase>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Spec {
    count: Option<i32>,
    phase: Option<Box<str>>,
    a: Option<Vec<(f64, bool)>>,
    b: Option<Name>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Name(String);

#[derive(Deserialize, PartialEq, Debug)]
enum Phase {
    Running,
    Other { count: i32 },
}

/// What the caller does: serde_json has the last word.
fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    from_slice(bytes).ok().or_else(|| serde_json::from_slice(bytes).ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn valid_json_has_the_value_serde_json_gives_it(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let want: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(from_slice::<serde_json::Value>(text.as_bytes()).unwrap(), want);
        prop_assert_eq!(read::<Few>(text.as_bytes()), serde_json::from_str(&text).ok());
    }

    #[test]
    fn damaged_json_is_accepted_by_neither_or_means_the_same(
        value in any_json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut text = serde_json::to_vec(&value).unwrap();
        let at = at.index(text.len());
        if cut { text.truncate(at) } else { text[at] = byte }
        let want: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
        prop_assert_eq!(from_slice::<serde_json::Value>(&text).ok(), want, "{}", text.escape_ascii());
        // Where fields are stepped over, more is accepted: what is read must not differ, and nothing panics.
        if let Ok(want) = serde_json::from_slice::<Few>(&text) {
            prop_assert_eq!(read::<Few>(&text), Some(want));
        }
        let _ = from_slice::<serde::de::IgnoredAny>(&text);
    }
}

#[test]
fn odd_texts_are_read_as_serde_json_reads_them() {
    let texts = [
        "",
        " ",
        "null",
        " 1 ",
        "-0",
        "01",
        "-01",
        "1.",
        ".5",
        "1e5",
        "1E+2",
        "-",
        "--1",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "1e400",
        "tru",
        "true1",
        "nulll",
        "[,]",
        "[1,]",
        "[1,,2]",
        "[1 2]",
        "{,}",
        r#"{"a":1,}"#,
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{a:1}"#,
        r#"{"a":1 "b":2}"#,
        "[1}",
        r#"{"a":1]"#,
        "1 2",
        r#"{"a":1,"a":2}"#,
        r#""\ud83d""#,
        r#""\u0000""#,
        "\"\t\"",
        "+1",
        "0x1",
        "NaN",
        "[]]",
        "\u{feff}1",
    ];
    for text in texts {
        let want: Option<serde_json::Value> = serde_json::from_str(text).ok();
        assert_eq!(from_slice::<serde_json::Value>(text.as_bytes()).ok(), want, "{text}");
    }
    for depth in [1, 126, 127, 128, 129, 100_000] {
        let text = "[".repeat(depth) + &"]".repeat(depth);
        let skipped = from_slice::<serde::de::IgnoredAny>(text.as_bytes());
        assert_eq!(skipped.is_ok(), depth <= 128);
        let _ = from_slice::<serde_json::Value>(text.as_bytes());
    }
}

#[test]
fn few_fields_are_read_without_a_fallback() {
    let text = r#"{"kind":"Pod","spec":{"x":[{"y":"]}"}],"count":3,"b":"n\n"},"status":{"é":null},"phase":"Running"}"#;
    let few: Few = from_slice(text.as_bytes()).unwrap();
    assert_eq!(few, serde_json::from_str(text).unwrap());
    assert!(from_slice::<Few>(br#"{"phase":{"Other":{"count":1}}}"#).is_err());
    assert_eq!(
        read::<Few>(br#"{"phase":{"Other":{"count":1}}}"#).unwrap().phase,
        Some(Phase::Other { count: 1 })
    );
}
