//! What a table of keys holds that live elsewhere, in numbered slots.

/// A key's slot, with half of the key's hash, so that growing the table does not look at every key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotEntry {
    pub(crate) slot: u32,
    pub(crate) hash: u32,
}

impl SlotEntry {
    /// The hash under which it stands in the table.
    pub(crate) fn table_hash(&self) -> u64 {
        table_hash(self.hash)
    }
}

/// What the table wants: it takes the place from the lower bits and a tag from the uppermost.
pub(crate) fn table_hash(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
