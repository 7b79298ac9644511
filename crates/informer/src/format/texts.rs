//! Many strings in one allocation.

/// A string of strings and small numbers, written once, read from front to back.
///
/// A number takes a byte for every six bits; a string is preceded by its length. Everything is a `String` that can be cut
/// only where a string begins, so that reading needs neither offsets nor validation.
pub(crate) struct TextsWriter {
    texts: String,
}

/// Bits of a number in each byte; the one above them says that more follow. So every byte is ASCII.
const BITS: u32 = 6;
const MORE: u8 = 1 << BITS;

impl TextsWriter {
    /// Begins, in a buffer that is used again.
    pub(crate) fn new(buffer: Vec<u8>) -> Self {
        let mut texts = String::from_utf8(buffer).unwrap_or_default();
        texts.clear();
        Self { texts }
    }

    pub(crate) fn number(&mut self, mut number: usize) {
        while number >= usize::from(MORE) {
            self.texts.push(char::from(number as u8 & (MORE - 1) | MORE));
            number >>= BITS;
        }
        self.texts.push(char::from(number as u8));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len());
        self.texts.push_str(text);
    }

    /// A number that is not known before what follows it is written: 0 until [`set_count`](Self::set_count). Returns where it
    /// stands.
    pub(crate) fn count(&mut self) -> usize {
        self.number(0);
        self.texts.len() - 1
    }

    /// Sets the number at this place, to which nothing but 0 has been set.
    pub(crate) fn set_count(&mut self, at: usize, count: usize) {
        if count < usize::from(MORE) {
            // One byte for another: nothing moves.
            self.texts.replace_range(at..=at, char::from(count as u8).encode_utf8(&mut [0]));
            return;
        }
        let mut number = Self::new(Vec::new());
        number.number(count);
        self.texts.replace_range(at..=at, &number.texts);
    }

    /// What another writer has written.
    pub(crate) fn raw(&mut self, texts: &str) {
        self.texts.push_str(texts);
    }

    /// Forgets everything from this offset on.
    pub(crate) fn truncate(&mut self, offset: usize) {
        self.texts.truncate(offset);
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.texts
    }

    /// The buffer, to be used again. What was written is still in it.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.texts.into_bytes()
    }
}

/// Reads what a [`TextsWriter`] wrote, in the same order; past the end there are zeros and empty strings.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    rest: &'a str,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(texts: &'a str) -> Self {
        Self { rest: texts }
    }

    #[inline]
    pub(crate) fn number(&mut self) -> usize {
        let bytes = self.rest.as_bytes();
        let (mut number, mut at) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            number |= usize::from(byte & (MORE - 1)) << (BITS * at as u32);
            at += 1;
            if byte & MORE == 0 {
                break;
            }
        }
        self.rest = &self.rest[at..];
        number
    }

    #[inline]
    pub(crate) fn text(&mut self) -> &'a str {
        let len = self.number();
        let (text, rest) = self.rest.split_at_checked(len).unwrap_or_default();
        self.rest = rest;
        text
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a str {
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let long = "ß".repeat(100_000);
        let texts = ["", "a", &"b".repeat(63), &"c".repeat(64), &long, "名前"];
        let numbers = [0, 1, 63, 64, 4_095, 4_096, 1 << 30];
        let mut writer = TextsWriter::new(b"left over".to_vec());
        for (text, number) in texts.iter().zip(numbers) {
            writer.text(text);
            writer.number(number);
        }
        let stored: Box<str> = writer.as_str().into();
        let mut reader = Texts::new(&stored);
        for (text, number) in texts.iter().zip(numbers) {
            assert_eq!((reader.text(), reader.number()), (*text, number));
        }
        assert_eq!((reader.rest(), reader.text(), reader.number()), ("", "", 0));
    }

    #[test]
    fn a_count_may_be_set_after_what_is_counted() {
        for count in [0, 1, 63, 64, 5_000] {
            let mut writer = TextsWriter::new(Vec::new());
            writer.text("before");
            let at = writer.count();
            (0..count).for_each(|number| writer.text(&number.to_string()));
            writer.set_count(at, count);
            writer.text("after");
            let mut reader = Texts::new(writer.as_str());
            assert_eq!((reader.text(), reader.number()), ("before", count));
            (0..count).for_each(|number| assert_eq!(reader.text(), number.to_string()));
            assert_eq!((reader.text(), reader.rest()), ("after", ""));
        }
    }
}
