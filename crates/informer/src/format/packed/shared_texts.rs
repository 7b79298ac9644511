//! Equal strings that come one soon after the other, kept once.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

/// Remembers the last strings, one in each place: objects of one owner come together, with the same labels and owners.
///
/// A bounded memory, so that a hundred thousand distinct strings cost no more than not sharing them.
pub(super) struct SharedTexts {
    places: Mutex<Box<[Option<Arc<str>>]>>,
    hasher: RandomState,
}

/// Some 16 KB, and some 100 KB of strings.
const PLACES: usize = 1_024;
/// Longer ones are not remembered: no more than 1 MiB in all.
const MAX_BYTES: usize = 1_024;

impl SharedTexts {
    pub(super) fn new() -> Self {
        Self { places: Mutex::new(vec![None; PLACES].into()), hasher: RandomState::default() }
    }

    /// This string, shared if it is remembered.
    pub(super) fn share(&self, text: &str) -> Arc<str> {
        if text.len() > MAX_BYTES {
            return text.into();
        }
        let place = self.hasher.hash_one(text) as usize % PLACES;
        let place = &mut self.places.lock().unwrap_or_else(PoisonError::into_inner)[place];
        match place {
            Some(known) if **known == *text => Arc::clone(known),
            _ => Arc::clone(place.insert(text.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one_and_memory_is_bounded() {
        let texts = SharedTexts::new();
        let first = texts.share("app=web");
        assert!(Arc::ptr_eq(&first, &texts.share("app=web")));
        let long = "x".repeat(MAX_BYTES + 1);
        assert!(!Arc::ptr_eq(&texts.share(&long), &texts.share(&long)));
        let kept: Vec<_> =
            (0..100_000).map(|i| Arc::downgrade(&texts.share(&format!("app=web-{i}")))).collect();
        let alive = kept.iter().filter(|text| text.upgrade().is_some()).count();
        assert!(alive <= PLACES, "{alive}");
    }
}
