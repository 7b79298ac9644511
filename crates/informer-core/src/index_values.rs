//! What the index functions say of one object, in one allocation.

use std::fmt;

/// The values of one object under each index, by the index's position: computed outside, stored inside.
///
/// Shorter than the number of indices means that nobody computed the rest: the object is
/// [`unindexed`](crate::Indexer::unindexed) there. No value is an empty sequence.
///
/// All of it is one allocation: a million objects of a first list carry theirs until the last of them has come, and each
/// change of an object brings its own.
///
/// ```
/// use informer_core::IndexValues;
/// let values = IndexValues::from_iter([vec!["node-7"], vec![], vec!["web", "prod"]]);
/// assert_eq!(values.len(), 3);
/// assert_eq!(values.get(2).unwrap().collect::<Vec<_>>(), ["web", "prod"]);
/// assert!(values.get(3).is_none());
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct IndexValues {
    /// For each index the number of its values, then each value's length and text. Numbers as [`put_number`] writes them.
    bytes: Box<[u8]>,
}

impl IndexValues {
    /// How many indices there are values for.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are values for no index at all.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The values under one index; `None` if nobody computed them. Costs time in proportion to the position.
    pub fn get(&self, position: usize) -> Option<Values<'_>> {
        self.iter().nth(position)
    }

    /// Adds the values under the indices that follow.
    pub fn append(&mut self, more: Self) {
        if self.is_empty() {
            *self = more;
        } else {
            self.bytes = [&*self.bytes, &*more.bytes].concat().into_boxed_slice();
        }
    }

    /// The values under each index.
    pub fn iter(&self) -> impl Iterator<Item = Values<'_>> {
        let mut rest = &*self.bytes;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let left = take_number(&mut rest);
            let values = Values { left, rest };
            (0..left).for_each(|_| _ = take_text(&mut rest));
            Some(values)
        })
    }
}

/// From the values under each index, in order.
impl<I: IntoIterator<Item: AsRef<str>>> FromIterator<I> for IndexValues {
    fn from_iter<T: IntoIterator<Item = I>>(indices: T) -> Self {
        let mut bytes = Vec::with_capacity(USUAL);
        for values in indices {
            let count_at = bytes.len();
            bytes.push(0);
            let mut count = 0;
            for value in values {
                let text = value.as_ref().as_bytes();
                put_number(&mut bytes, text.len());
                bytes.extend_from_slice(text);
                count += 1;
            }
            if count < LONG {
                bytes[count_at] = count as u8;
            } else {
                let mut long = Vec::new();
                put_number(&mut long, count);
                bytes.splice(count_at..=count_at, long);
            }
        }
        Self { bytes: bytes.into_boxed_slice() }
    }
}

impl fmt::Debug for IndexValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(Vec::from_iter)).finish()
    }
}

/// The values under one index.
#[derive(Clone)]
pub struct Values<'a> {
    left: usize,
    rest: &'a [u8],
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.left = self.left.checked_sub(1)?;
        Some(std::str::from_utf8(take_text(&mut self.rest)).expect("a value was written from a string"))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Values<'_> {}

/// One or two values are written without a second allocation.
const USUAL: usize = 32;

/// Numbers below this take one byte; any other takes this one and eight more.
const LONG: usize = 255;

fn put_number(bytes: &mut Vec<u8>, number: usize) {
    if number < LONG {
        bytes.push(number as u8);
    } else {
        bytes.push(LONG as u8);
        bytes.extend_from_slice(&(number as u64).to_le_bytes());
    }
}

fn take_number(bytes: &mut &[u8]) -> usize {
    let (&first, rest) = bytes.split_first().expect("what was written is read");
    *bytes = rest;
    if usize::from(first) < LONG {
        return usize::from(first);
    }
    let (long, rest) = rest.split_first_chunk().expect("a long number has eight bytes");
    *bytes = rest;
    u64::from_le_bytes(*long) as usize
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let len = take_number(bytes);
    let (text, rest) = bytes.split_at(len);
    *bytes = rest;
    text
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(values: &IndexValues) -> Vec<Vec<String>> {
        values.iter().map(|values| values.map(str::to_owned).collect()).collect()
    }

    proptest! {
        #[test]
        fn what_is_put_in_comes_out(first in vec(vec(".{0,4}", 0..4), 0..4), more in vec(vec(".{0,4}", 0..4), 0..4)) {
            let mut values = IndexValues::from_iter(&first);
            values.append(IndexValues::from_iter(&more));
            let all: Vec<_> = first.into_iter().chain(more).collect();
            prop_assert_eq!(values.len(), all.len());
            prop_assert_eq!(values.is_empty(), all.is_empty());
            for (position, own) in all.iter().enumerate() {
                let own: Vec<_> = own.iter().map(String::as_str).collect();
                let found = values.get(position).unwrap();
                prop_assert_eq!(found.len(), own.len());
                prop_assert_eq!(found.collect::<Vec<_>>(), own);
            }
            prop_assert!(values.get(all.len()).is_none());
            prop_assert_eq!(read(&values), all);
        }
    }

    #[test]
    fn numbers_of_any_size_are_kept() {
        for many in [LONG - 1, LONG, LONG + 1, 70_000] {
            let texts = vec![vec!["x".repeat(many)], vec!["y".to_owned(); many], vec![]];
            assert_eq!(read(&IndexValues::from_iter(&texts)), texts);
        }
    }

    #[test]
    fn debug_output_is_readable() {
        assert_eq!(format!("{:?}", IndexValues::from_iter([vec!["a", "b"], vec![]])), r#"[["a", "b"], []]"#);
    }
}
