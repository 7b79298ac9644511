//! Removes `metadata.managedFields` from the bytes of an object.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::WireError;
use crate::object_meta::ObjectMeta;

/// The object without its top-level `metadata.managedFields`, wherever that stands; borrowed if there is
/// none.
///
/// About two fifths of a typical object are managedFields: decoding takes half the time without them. What
/// remains is valid JSON if the input was. Fields of the same name elsewhere (in a Pod template, in `data`)
/// are kept. To use a scan that has been made already, see [`ObjectMeta::extend_without_managed_fields`].
///
/// ```
/// use informer_wire::cut_managed_fields;
///
/// let object = br#"{"metadata":{"name":"a","managedFields":[{"manager":"kubectl"}]},"data":{"k":"v"}}"#;
/// let cut = cut_managed_fields(object)?;
/// assert_eq!(&*cut, br#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#);
/// # Ok::<(), informer_wire::WireError>(())
/// ```
///
/// # Errors
///
/// As [`ObjectMeta::scan`], but neither name nor metadata is needed.
pub fn cut_managed_fields(object: &[u8]) -> Result<Cow<'_, [u8]>, WireError> {
    let meta = ObjectMeta::scan_any(object)?;
    if meta.managed_fields().is_empty() {
        return Ok(Cow::Borrowed(object));
    }
    let mut out = Vec::with_capacity(object.len());
    meta.extend_without_managed_fields(&mut out);
    Ok(Cow::Owned(out))
}

/// Finds which bytes to leave out while the entries of one JSON object go by.
///
/// An entry that is cut and has a successor is cut up to it, comma included. One that is last is cut from the
/// end of the last entry that is kept, so that the comma before it goes.
#[derive(Debug)]
pub(crate) struct CutFinder {
    spans: Vec<Range<usize>>,
    kept_end: Option<usize>,
    /// The start of a cut entry whose successor is not known yet, and the end of its value.
    pending: Option<Range<usize>>,
}

impl CutFinder {
    pub(crate) fn new() -> Self {
        Self { spans: Vec::new(), kept_end: None, pending: None }
    }

    /// An entry goes by: from its key's quote to its value's end.
    pub(crate) fn entry(&mut self, start: usize, end: usize, cut: bool) {
        if cut {
            // Neighbours are cut as one.
            let from = self.pending.take().map_or(start, |pending| pending.start);
            self.pending = Some(from..end);
            return;
        }
        if let Some(pending) = self.pending.take() {
            self.spans.push(pending.start..start);
        }
        self.kept_end = Some(end);
    }

    pub(crate) fn finish(mut self) -> Vec<Range<usize>> {
        if let Some(pending) = self.pending {
            self.spans.push(self.kept_end.unwrap_or(pending.start)..pending.end);
        }
        self.spans
    }
}
