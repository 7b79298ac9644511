//! Owner references, read where they stand.

use std::borrow::Cow;
use std::ops::Range;

use crate::cursor::{ArrayCursor, ObjectCursor};
use crate::error::{WireError, WireErrorKind};

/// One element of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnerReference<'a> {
    /// Group and version of the owner: `apps/v1`.
    pub api_version: Cow<'a, str>,
    /// Kind of the owner: `ReplicaSet`.
    pub kind: Cow<'a, str>,
    /// Name of the owner, which is in the same namespace or in none.
    pub name: Cow<'a, str>,
    /// Uid of the owner.
    pub uid: Cow<'a, str>,
    /// Whether this owner is the managing controller.
    pub controller: bool,
    /// Whether this owner is not to be gone before the object is.
    pub block_owner_deletion: bool,
}

/// The elements of `metadata.ownerReferences`, decoded one by one.
///
/// Yields nothing when the array is absent or null. After an error nothing more is yielded.
///
/// ```
/// use informer_wire::ObjectMeta;
///
/// let meta = ObjectMeta::scan(
///     br#"{"metadata":{"name":"a","ownerReferences":[
///         {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u1","controller":true}]}}"#,
/// )?;
/// let owner = meta.owner_references().next().unwrap()?;
/// assert_eq!((&*owner.kind, &*owner.uid, owner.controller), ("ReplicaSet", "u1", true));
/// # Ok::<(), informer_wire::WireError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OwnerReferences<'a> {
    bytes: &'a [u8],
    state: State<'a>,
}

#[derive(Debug, Clone)]
enum State<'a> {
    Unread(usize),
    Within(ArrayCursor<'a>),
    Done,
}

const PLACE: &str = "ownerReferences";

/// The array stands in metadata, in the object.
const ARRAY_DEPTH: u32 = 2;

impl<'a> OwnerReferences<'a> {
    pub(crate) fn new(bytes: &'a [u8], start: Option<usize>) -> Self {
        Self { bytes, state: start.map_or(State::Done, State::Unread) }
    }

    fn read(&mut self) -> Result<Option<OwnerReference<'a>>, WireError> {
        if let State::Unread(start) = self.state {
            if self.bytes[start] != b'[' {
                let kind = WireErrorKind::WrongType { key: PLACE, expected: "an array" };
                return Err(WireError::at(start, kind));
            }
            self.state = State::Within(ArrayCursor::enter(self.bytes, start, ARRAY_DEPTH)?);
        }
        let State::Within(cursor) = &mut self.state else {
            return Ok(None);
        };
        cursor.next_element()?.map(|span| reference(self.bytes, span)).transpose()
    }
}

impl<'a> Iterator for OwnerReferences<'a> {
    type Item = Result<OwnerReference<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reference = self.read().map_err(|error| error.within(PLACE)).transpose();
        if !matches!(reference, Some(Ok(_))) {
            self.state = State::Done;
        }
        reference
    }
}

fn reference<'a>(bytes: &'a [u8], span: Range<usize>) -> Result<OwnerReference<'a>, WireError> {
    if bytes[span.start] != b'{' {
        let kind = WireErrorKind::WrongType { key: "ownerReference", expected: "an object" };
        return Err(WireError::at(span.start, kind));
    }
    let mut cursor = ObjectCursor::enter(bytes, span.start, ARRAY_DEPTH + 1)?;
    let (mut api_version, mut kind, mut name, mut uid) = (None, None, None, None);
    let (mut controller, mut block) = (false, false);
    while let Some((key, _)) = cursor.next_key()? {
        match &*key {
            "apiVersion" => api_version = cursor.text("apiVersion")?,
            "kind" => kind = cursor.text("kind")?,
            "name" => name = cursor.text("name")?,
            "uid" => uid = cursor.text("uid")?,
            "controller" => controller = flag(bytes, cursor.skip()?, "controller")?,
            "blockOwnerDeletion" => block = flag(bytes, cursor.skip()?, "blockOwnerDeletion")?,
            _ => {
                cursor.skip()?;
            }
        }
    }
    let needed = |value: Option<Cow<'a, str>>, key| {
        value.ok_or(WireError::at(span.start, WireErrorKind::MissingKey { key }))
    };
    Ok(OwnerReference {
        api_version: needed(api_version, "apiVersion")?,
        kind: needed(kind, "kind")?,
        name: needed(name, "name")?,
        uid: needed(uid, "uid")?,
        controller,
        block_owner_deletion: block,
    })
}

fn flag(bytes: &[u8], value: Range<usize>, key: &'static str) -> Result<bool, WireError> {
    match &bytes[value.clone()] {
        b"true" => Ok(true),
        b"false" | b"null" => Ok(false),
        _ => Err(WireError::at(value.start, WireErrorKind::WrongType { key, expected: "a boolean" })),
    }
}
