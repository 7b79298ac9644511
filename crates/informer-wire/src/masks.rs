//! Where quotes, backslashes and brackets stand in 64 bytes, one bit a byte.

use wide::u8x16;

/// Bytes looked at together: as many as a mask has bits.
pub(crate) const BLOCK: usize = 64;

/// One bit for each byte of a block, the first byte lowest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Masks {
    pub(crate) quotes: u64,
    pub(crate) backslashes: u64,
    /// `{` or `[`.
    pub(crate) opens: u64,
    /// `}` or `]`.
    pub(crate) closes: u64,
}

impl Masks {
    /// Sixteen bytes are compared at once: what every processor of the baseline has (SSE2, NEON), without
    /// unsafe code here.
    #[inline]
    pub(crate) fn of(block: &[u8; BLOCK]) -> Self {
        let (quarters, _) = block.as_chunks::<16>();
        let mut masks = Self { quotes: 0, backslashes: 0, opens: 0, closes: 0 };
        for (k, quarter) in quarters.iter().enumerate() {
            let bytes = u8x16::new(*quarter);
            // 0x20 is all that sets `[` and `]` apart from `{` and `}`.
            let folded = bytes | u8x16::splat(0x20);
            let equal =
                |bytes: u8x16, byte| u64::from(bytes.simd_eq(u8x16::splat(byte)).to_bitmask()) << (16 * k);
            masks.quotes |= equal(bytes, b'"');
            masks.backslashes |= equal(bytes, b'\\');
            masks.opens |= equal(folded, b'{');
            masks.closes |= equal(folded, b'}');
        }
        masks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_one_bit_a_byte() {
        for byte in 0..=255u8 {
            for at in 0..BLOCK {
                let mut block = [b'.'; BLOCK];
                block[at] = byte;
                let bit = |chosen: &[u8]| if chosen.contains(&byte) { 1u64 << at } else { 0 };
                let want = Masks {
                    quotes: bit(b"\""),
                    backslashes: bit(b"\\"),
                    opens: bit(b"{["),
                    closes: bit(b"}]"),
                };
                assert_eq!(Masks::of(&block), want, "byte {byte} at {at}");
            }
        }
    }

    #[test]
    fn masks_of_full_blocks_do_not_disturb_each_other() {
        let text = br#"{"a":[]}\"[{\\}]"{}"#;
        for shift in 0..text.len() {
            let mut block = [0; BLOCK];
            for (i, byte) in block.iter_mut().enumerate() {
                *byte = text[(i * 7 + shift) % text.len()];
            }
            let bits = |chosen: &[u8]| {
                (0..BLOCK).filter(|&i| chosen.contains(&block[i])).fold(0u64, |bits, i| bits | 1 << i)
            };
            let want = Masks {
                quotes: bits(b"\""),
                backslashes: bits(b"\\"),
                opens: bits(b"{["),
                closes: bits(b"}]"),
            };
            assert_eq!(Masks::of(&block), want);
        }
    }
}
