//! Deterministic names: a seeded generator, uids, name suffixes, and base64 for continue tokens.

/// A small seeded generator (SplitMix64): the same seed gives the same uids and names on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A version 4 uuid.
    pub(crate) fn uid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | ((b >> 48) & 0x3fff),
            b & 0xffff_ffff_ffff
        )
    }

    /// `length` characters of the alphabet that the API server's name generator uses (no vowels, no look-alikes).
    pub(crate) fn suffix(&mut self, length: usize) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..length).map(|_| char::from(ALPHABET[self.below(ALPHABET.len())])).collect()
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Encodes as URL-safe base64 without padding.
pub(crate) fn base64_encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = (u32::from(chunk[0]) << 16)
            | (u32::from(*chunk.get(1).unwrap_or(&0)) << 8)
            | u32::from(*chunk.get(2).unwrap_or(&0));
        for position in 0..=chunk.len() {
            out.push(char::from(BASE64[(word >> (18 - 6 * position)) as usize & 63]));
        }
    }
    out
}

/// Decodes URL-safe base64 without padding; the error is the position of the first bad character.
pub(crate) fn base64_decode(text: &str) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut word, mut bits) = (0u32, 0u32);
    for (position, byte) in text.bytes().enumerate() {
        let value = BASE64.iter().position(|known| *known == byte).ok_or(position)?;
        word = (word << 6) | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    if text.len() % 4 == 1 { Err(text.len() - 1) } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_round_trips() {
        for length in 0..20usize {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 37) as u8).collect();
            assert_eq!(base64_decode(&base64_encode(&bytes)), Ok(bytes));
        }
        assert_eq!(base64_encode(br#"{"v":"a"}"#), "eyJ2IjoiYSJ9");
        assert_eq!(base64_decode("ab!"), Err(2));
    }

    #[test]
    fn same_seed_gives_the_same_uids() {
        let (mut one, mut two) = (Rng::new(7), Rng::new(7));
        let uid = one.uid();
        assert_eq!(uid, two.uid());
        assert_eq!(uid.len(), 36);
        assert_ne!(uid, one.uid());
    }
}
