//! Bounds on what is held in memory for a peer.

/// How deep objects and arrays may nest, counted from the outermost one of an item, a line or a scanned
/// object.
///
/// 128 is where serde_json stops too, so nothing that could be decoded is refused. Levels are counted, not
/// stacked, so depth never costs memory.
pub const DEPTH_LIMIT: u32 = 128;

/// Bounds on lines, items and decompression.
///
/// ```
/// use informer_wire::Limits;
///
/// let limits = Limits::default().line_bytes(1 << 20).item_bytes(1 << 20);
/// assert_eq!(limits.line_bytes, 1 << 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Longest line of a watch, without its newline. Default 16 MiB.
    pub line_bytes: usize,
    /// Longest element of a list's `items`. Default 16 MiB.
    pub item_bytes: usize,
    /// Longest `metadata`, `kind`, `apiVersion` or key at the top level of a list. Default 1 MiB.
    pub metadata_bytes: usize,
    /// Longest gzip member, decoded. Default 16 GiB.
    pub member_bytes: u64,
    /// Decoded bytes allowed for each compressed byte, beyond [`gzip_slack_bytes`](Self::gzip_slack_bytes).
    /// Default 200.
    pub gzip_ratio: u32,
    /// Decoded bytes that may come without being paid for by compressed ones. Default 64 MiB.
    pub gzip_slack_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // etcd takes 1.5 MiB per object and an API server 3 MiB per request; JSON escapes (\u0000) can
            // make six bytes of one. Aggregated servers have no such bounds: some room is left for them.
            line_bytes: 16 << 20,
            item_bytes: 16 << 20,
            // A continue token is a key of etcd (about 1 KiB) in base64; everything else is shorter.
            metadata_bytes: 1 << 20,
            // A list is one member. Two million objects of 8 KiB; far beyond what one list request survives.
            member_bytes: 16 << 30,
            // Lists of real objects shrink 6 to 13 times, a watch that repeats one object up to some 60
            // times.
            gzip_ratio: 200,
            // Deflate reaches 1030:1 on filler, and an object full of filler is legitimate: this pays for 40
            // of etcd's largest objects in a row. It costs no memory (output is taken piece by piece), at
            // most 0.1 s.
            gzip_slack_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// Sets the longest line of a watch, in bytes without its newline.
    pub fn line_bytes(mut self, bytes: usize) -> Self {
        self.line_bytes = bytes;
        self
    }

    /// Sets the longest element of a list's `items`, in bytes.
    pub fn item_bytes(mut self, bytes: usize) -> Self {
        self.item_bytes = bytes;
        self
    }

    /// Sets the longest `metadata`, `kind`, `apiVersion` or key at the top level of a list, in bytes.
    pub fn metadata_bytes(mut self, bytes: usize) -> Self {
        self.metadata_bytes = bytes;
        self
    }

    /// Sets the longest gzip member, in decoded bytes.
    pub fn member_bytes(mut self, bytes: u64) -> Self {
        self.member_bytes = bytes;
        self
    }

    /// Sets how many decoded bytes each compressed byte pays for.
    pub fn gzip_ratio(mut self, ratio: u32) -> Self {
        self.gzip_ratio = ratio;
        self
    }

    /// Sets how many decoded bytes may come unpaid for.
    pub fn gzip_slack_bytes(mut self, bytes: u64) -> Self {
        self.gzip_slack_bytes = bytes;
        self
    }
}
