//! Where quotes, backslashes and brackets stand in 64 bytes, one bit a byte.

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
    /// Written so that compilers turn the loops into vector instructions, with nothing but the baseline of
    /// the processor and without unsafe code. The four quarters of a block are compared side by side; each
    /// leaves its answer in a bit of its own.
    #[inline]
    pub(crate) fn of(block: &[u8; BLOCK]) -> Self {
        let (quarters, _) = block.as_chunks::<16>();
        let mut quotes = [0u8; 16];
        let mut backslashes = [0u8; 16];
        let mut opens = [0u8; 16];
        let mut closes = [0u8; 16];
        for (k, quarter) in quarters.iter().enumerate() {
            // One quarter is two words of eight bytes: `gather` wants word w in bit w.
            let bit = 1u8 << (2 * k);
            for (j, &byte) in quarter.iter().enumerate() {
                // 0x20 is all that sets `[` and `]` apart from `{` and `}`.
                quotes[j] |= if byte == b'"' { bit } else { 0 };
                backslashes[j] |= if byte == b'\\' { bit } else { 0 };
                opens[j] |= if byte | 0x20 == b'{' { bit } else { 0 };
                closes[j] |= if byte | 0x20 == b'}' { bit } else { 0 };
            }
        }
        let escapes = u128::from_le_bytes(backslashes) != 0;
        Self {
            quotes: gather(quotes),
            backslashes: if escapes { gather(backslashes) } else { 0 },
            opens: gather(opens),
            closes: gather(closes),
        }
    }
}

/// Byte j has in bit 2k what holds for byte 16k + j of the block, and the other bits clear.
#[inline]
fn gather(quarters: [u8; 16]) -> u64 {
    let both = u128::from_le_bytes(quarters);
    // Byte j of this word has in bit w what holds for byte 8w + j: turn rows into columns, as a matrix of
    // bits, by exchanging halves of ever larger squares.
    let mut bits = both as u64 | ((both >> 64) as u64) << 1;
    for (shift, squares) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let differ = (bits ^ bits >> shift) & squares;
        bits ^= differ ^ differ << shift;
    }
    bits
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
