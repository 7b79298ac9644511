//! Whatever the bytes and whatever is asked, the reader answers or errs; on JSON it walks as serde_json reads.

use informer_wire::JsonReader;
use proptest::prelude::*;
use serde_json::Value;

/// Everything there is, by reading every other value and stepping over the rest, which serde_json then reads.
fn read(json: &mut JsonReader<'_>, skip: &mut bool) -> Result<Value, informer_wire::WireError> {
    *skip = !*skip;
    if *skip {
        return Ok(serde_json::from_slice(json.skip()?).expect("it is JSON"));
    }
    match json.peek() {
        Some(b'{') => {
            let mut map = serde_json::Map::new();
            json.enter_object()?;
            while let Some(key) = json.next_key()? {
                map.insert(key.into_owned(), read(json, skip)?);
            }
            Ok(map.into())
        }
        Some(b'[') => {
            let mut elements = Vec::new();
            json.enter_array()?;
            while json.next_element()? {
                elements.push(read(json, skip)?);
            }
            Ok(elements.into())
        }
        Some(b'"') => Ok(json.text()?.into_owned().into()),
        _ => Ok(serde_json::from_slice(json.skip()?).expect("it is JSON")),
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[\"\\\\{}\\[\\],:\né🚀a ]{0,90}".prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map("[\"\\\\{}a-c]{0,5}", inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_is_read_and_what_is_skipped_make_the_value(value in any_json(), pretty in any::<bool>(), first in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let mut json = JsonReader::new(text.as_bytes());
        prop_assert_eq!(read(&mut json, &mut first.clone()).unwrap(), value);
        json.end().unwrap();
        let followed = format!("{text} x");
        let mut json = JsonReader::new(followed.as_bytes());
        json.skip().unwrap();
        prop_assert!(json.end().is_err());
    }

    #[test]
    fn no_bytes_and_no_order_of_calls_panics(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[\\[\\]{}\",:0-9a\\\\ tn-]{0,200}".prop_map(String::into_bytes),
        ],
        calls in prop::collection::vec(0..6u8, 0..60),
    ) {
        let mut json = JsonReader::new(&bytes);
        for call in calls {
            let before = json.offset();
            let _ = match call {
                0 => json.skip().map(drop),
                1 => json.text().map(drop),
                2 => json.enter_object(),
                3 => json.enter_array(),
                4 => json.next_key().map(drop),
                _ => json.next_element().map(drop),
            };
            prop_assert!(json.offset() >= before && json.offset() <= bytes.len());
            let _ = (json.peek(), json.end());
        }
    }
}

#[test]
fn depth_is_bounded() {
    let deep = "[".repeat(1_000_000);
    let mut json = JsonReader::new(deep.as_bytes());
    let mut levels = 0;
    while json.enter_array().is_ok() {
        levels += 1;
        assert!(json.next_element().unwrap());
    }
    assert_eq!(levels, informer_wire::DEPTH_LIMIT);
    assert!(json.skip().is_err());
}
