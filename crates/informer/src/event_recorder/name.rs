//! Names of Event objects: valid and unique, whatever the object is called.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest name that the API takes.
const MAX_NAME_BYTES: usize = 253;
/// Hexadecimal digits of the unique part: 16 of the time, 8 of the recorder.
const UNIQUE_BYTES: usize = 24;

/// Makes the unique parts of names: the time in nanoseconds, never the same twice, and a number of the recorder's own, since
/// replicas tell of the same objects at the same time.
#[derive(Debug)]
pub(super) struct UniqueNames {
    last_nanos: AtomicU64,
    recorder: u32,
}

impl UniqueNames {
    pub(super) fn new(seed: u64) -> Self {
        Self { last_nanos: AtomicU64::new(0), recorder: (seed >> 32) as u32 }
    }

    /// `<object's name>.<unique>`, a DNS subdomain.
    pub(super) fn name(&self, object: &str, time: SystemTime) -> String {
        let nanos = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        let next = |last: u64| Some(nanos.max(last.wrapping_add(1)));
        let last = self.last_nanos.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let last = last.expect("there is always a next one");
        let unique = nanos.max(last.wrapping_add(1));
        format!("{}.{unique:016x}{:08x}", subdomain(object, MAX_NAME_BYTES - 1 - UNIQUE_BYTES), self.recorder)
    }
}

/// The nearest DNS subdomain of at most so many bytes: `system:node:X` is `system-node-x`.
fn subdomain(name: &str, max_bytes: usize) -> String {
    let mut valid = String::with_capacity(name.len().min(max_bytes));
    for character in name.chars() {
        let character = match character {
            'a'..='z' | '0'..='9' | '.' => character,
            'A'..='Z' => character.to_ascii_lowercase(),
            _ => '-',
        };
        // A label begins with a letter or digit, and ends with one.
        let begins = valid.is_empty() || valid.ends_with('.');
        if begins && matches!(character, '-' | '.') {
            continue;
        }
        if character == '.' {
            valid.truncate(valid.trim_end_matches('-').len());
        }
        if valid.len() == max_bytes {
            break;
        }
        valid.push(character);
    }
    valid.truncate(valid.trim_end_matches(['-', '.']).len());
    if valid.is_empty() { "object".to_owned() } else { valid }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_subdomains() {
        for (name, valid) in [
            ("web-0", "web-0"),
            ("web.example.com", "web.example.com"),
            ("system:node:Node-1", "system-node-node-1"),
            ("-a.-b-.c-", "a.b.c"),
            ("..a..", "a"),
            ("a_b/c%2F", "a-b-c-2f"),
            ("ähm", "hm"),
            ("", "object"),
            ("::", "object"),
            ("a-.-b", "a.b"),
        ] {
            assert_eq!(subdomain(name, 228), valid, "{name}");
        }
        assert_eq!(subdomain("abc-.d", 5), "abc.d");
        assert_eq!(subdomain("abcd.e", 5), "abcd");
    }

    #[test]
    fn names_are_unique_at_one_time_and_when_time_goes_back() {
        let names = UniqueNames::new(u64::MAX);
        let [later, earlier] = [9, 5].map(|secs| UNIX_EPOCH + std::time::Duration::from_secs(secs));
        let all: Vec<String> = [later, later, earlier].iter().map(|time| names.name("a", *time)).collect();
        assert_eq!(
            all,
            ["a.0000000218711a00ffffffff", "a.0000000218711a01ffffffff", "a.0000000218711a02ffffffff"]
        );
    }

    #[test]
    fn any_name_gives_a_valid_one() {
        let names = UniqueNames::new(7);
        let mut random = informer_core::Rng::new(1);
        for _ in 0..2000 {
            let length = random.below(400);
            let alphabet: Vec<char> = "abz019.-:_ZÄ/ ".chars().collect();
            let object: String =
                (0..length).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]).collect();
            let name = names.name(&object, UNIX_EPOCH);
            assert!(name.len() <= MAX_NAME_BYTES, "{name}");
            for label in name.split('.') {
                let edges = [label.chars().next(), label.chars().last()];
                assert!(
                    edges.iter().all(|edge| edge.is_some_and(|edge| edge.is_ascii_alphanumeric())),
                    "{object}: {name}"
                );
                let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
                assert!(label.bytes().all(valid), "{name}");
            }
        }
    }
}
