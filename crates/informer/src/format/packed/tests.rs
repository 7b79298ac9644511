//! Damage is found, training happens when it should, and nothing grows without bound.

use serde_json::{Value, json};

use super::dictionary::Writer;
use super::stats::Counters;
use super::*;

fn packed(packer: &Arc<Packer>, json: &str) -> PackedObject<Value> {
    PackedObject {
        packed: Packer::pack(packer, json.as_bytes()).unwrap(),
        tags: "".into(),
        fields: Box::default(),
        resource: PhantomData,
    }
}

fn dictionaries(packer: &Arc<Packer>) -> u64 {
    PackedStats::new(Arc::clone(packer)).dictionaries()
}

/// Objects of one kind, alike but for what a hash is of.
fn object(kind: u64, number: u64) -> String {
    let mut mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let fields: serde_json::Map<String, Value> = (0..24)
        .map(|field| {
            mixed = mixed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(kind);
            let name = format!("{:016x}", (kind << 32 | field).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            (name, json!({"enabled": mixed >> 63 == 1, "count": mixed >> 56, "kind": kind}))
        })
        .collect();
    json!({"metadata": {"name": format!("object-{number}")}, "spec": fields}).to_string()
}

#[test]
fn every_damaged_bit_is_found_and_counted() {
    let packer = Arc::new(Packer::new());
    for number in 0..600 {
        packed(&packer, &object(1, number));
    }
    assert_eq!(dictionaries(&packer), 1, "a dictionary is in use");
    let mut value = packed(&packer, &object(1, 7));
    assert_eq!(value.decode().unwrap(), serde_json::from_str::<Value>(&object(1, 7)).unwrap());
    let bits = value.packed.bytes.len() * 8;
    let mut errors = 0;
    for bit in 0..bits {
        value.packed.bytes[bit / 8] ^= 1 << (bit % 8);
        match value.decode() {
            Err(error) => {
                assert!(error.is_damaged(), "{error}");
                errors += 1;
            }
            // A bit that means nothing, as a reserved one of the frame's header.
            Ok(same) => assert_eq!(same, serde_json::from_str::<Value>(&object(1, 7)).unwrap()),
        }
        value.packed.bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(errors > bits - 16, "{errors} of {bits}");
    assert_eq!(PackedStats::new(packer).damaged(), errors as u64);
    value.packed.bytes = Box::default();
    assert!(value.decode().unwrap_err().is_damaged());
}

#[test]
fn a_dictionary_is_trained_on_the_first_objects_and_replaced_when_it_stops_paying() {
    let packer = Arc::new(Packer::new());
    let first = packed(&packer, &object(1, 0));
    for number in 1..1_000 {
        packed(&packer, &object(1, number));
    }
    assert_eq!(dictionaries(&packer), 1);
    let with_dictionary = packed(&packer, &object(1, 0));
    assert!(with_dictionary.packed_len() * 2 < first.packed_len());
    for number in 1_000..6_000 {
        packed(&packer, &object(1, number));
    }
    assert_eq!(dictionaries(&packer), 1, "it pays");

    // Other objects come: after two windows at most they are trained on, by another thread.
    let mut number = 0;
    while dictionaries(&packer) == 1 {
        number += 1;
        assert!(number < 1_000_000, "never trained again");
        packed(&packer, &object(2, number));
        if number > 20_000 {
            std::thread::yield_now();
        }
    }
    let other = packed(&packer, &object(2, 0));
    assert!(other.packed_len() * 2 < first.packed_len());
    for (value, text) in [(first, object(1, 0)), (with_dictionary, object(1, 0)), (other, object(2, 0))] {
        assert_eq!(value.json().unwrap(), text.as_bytes(), "each is read with its own dictionary");
    }
}

#[test]
fn objects_that_cannot_be_made_smaller_are_stored_all_the_same() {
    let packer = Arc::new(Packer::new());
    let mut random = 1u64;
    let noise: Vec<u8> = (0..2_000_000)
        .map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'0' + (random >> 33) as u8 % 64
        })
        .collect();
    let noise = String::from_utf8(noise).unwrap().replace('\\', "/");
    for text in ["", "0", &noise] {
        let json = format!("\"{text}\"");
        let value = packed(&packer, &json);
        assert!(value.packed_len() < json.len() + 100);
        assert_eq!(value.json().unwrap(), json.as_bytes());
    }
}

#[test]
fn too_few_or_equal_samples_train_nothing() {
    let writer = Writer::plain(Paths::default(), Arc::new(Counters::default()));
    assert!(writer.train(&[], &[]).is_none());
    assert!(writer.train(b"abc", &[1, 1, 1]).is_none());
    let packer = Arc::new(Packer::new());
    for _ in 0..2_000 {
        packed(&packer, "{}");
    }
    assert_eq!(packed(&packer, "{}").json().unwrap(), b"{}");
}

#[test]
fn debug_texts_hold_no_values() {
    let value = packed(&Arc::new(Packer::new()), r#"{"data":"hunter2"}"#);
    assert!(!format!("{value:?}").contains("hunter2"));
}

#[test]
fn many_threads_share_one_packer() {
    let packer = Arc::new(Packer::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let packer = &packer;
            scope.spawn(move || {
                for number in 0..400 {
                    let text = object(1, thread * 1_000 + number);
                    assert_eq!(packed(packer, &text).json().unwrap(), text.as_bytes());
                }
            });
        }
    });
    let stats = PackedStats::new(packer);
    assert_eq!((stats.objects(), stats.dictionaries(), stats.damaged()), (1_600, 1, 0));
}
