//! What the core knows of an object: its key, uid, version, and an opaque value.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::IndexValues;

/// Namespace and name of an object; cheap to clone.
///
/// Cluster-scoped objects have the empty namespace. Keys order by namespace, then name.
///
/// ```
/// use informer_core::ObjectKey;
/// let key = ObjectKey::new("team-a", "web-0");
/// assert_eq!(key.to_string(), "team-a/web-0");
/// assert_eq!("team-a/web-0".parse(), Ok(key));
/// assert_eq!(ObjectKey::new("", "node-1").to_string(), "node-1");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[doc(alias = "ObjectName")]
#[doc(alias = "MetaNamespaceKeyFunc")]
pub struct ObjectKey {
    /// Namespace immediately followed by the name: one allocation a key.
    joined: Arc<str>,
    namespace_len: u32,
}

impl ObjectKey {
    /// The key of `name` in `namespace`; an empty namespace means cluster-scoped.
    ///
    /// # Panics
    /// If `namespace` is longer than `u32::MAX` bytes.
    pub fn new(namespace: &str, name: &str) -> Self {
        let namespace_len = u32::try_from(namespace.len()).expect("a namespace is shorter than 4 GiB");
        Self { joined: [namespace, name].concat().into(), namespace_len }
    }

    /// The namespace, empty for a cluster-scoped object.
    #[inline]
    pub fn namespace(&self) -> &str {
        &self.joined[..self.namespace_len as usize]
    }

    /// The name.
    #[inline]
    pub fn name(&self) -> &str {
        &self.joined[self.namespace_len as usize..]
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.namespace(), self.name()).cmp(&(other.namespace(), other.name()))
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace_len > 0 {
            write!(f, "{}/", self.namespace())?;
        }
        f.write_str(self.name())
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A string that is not `name` or `namespace/name`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyParseError;

impl fmt::Display for KeyParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key is `name` or `namespace/name`")
    }
}

impl std::error::Error for KeyParseError {}

impl std::str::FromStr for ObjectKey {
    type Err = KeyParseError;

    fn from_str(text: &str) -> Result<Self, KeyParseError> {
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        if name.is_empty() || name.contains('/') || (namespace.is_empty() && text.contains('/')) {
            return Err(KeyParseError);
        }
        Ok(Self::new(namespace, name))
    }
}

/// The identity of one incarnation of an object: a name deleted and created again gets another.
///
/// A canonical UUID takes 16 bytes inline; anything else (some aggregated servers) is kept as text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(UidRepr);

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum UidRepr {
    Uuid([u8; 16]),
    Text(Arc<str>),
}

impl Uid {
    /// The uid with this text, which may be empty when a server sends none.
    pub fn new(text: &str) -> Self {
        parse_uuid(text).map_or_else(|| Self(UidRepr::Text(text.into())), |uuid| Self(UidRepr::Uuid(uuid)))
    }
}

/// Canonical form only (lower-case hex, dashes), so that text → uid → text is the identity.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.as_bytes();
    if text.len() != 36 {
        return None;
    }
    let mut uuid = [0; 16];
    let mut digits = 0;
    for (position, &byte) in text.iter().enumerate() {
        if matches!(position, 8 | 13 | 18 | 23) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        uuid[digits / 2] = (uuid[digits / 2] << 4) | digit;
        digits += 1;
    }
    Some(uuid)
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            UidRepr::Text(text) => f.write_str(text),
            UidRepr::Uuid(uuid) => {
                for (position, byte) in uuid.iter().enumerate() {
                    if matches!(position, 4 | 6 | 8 | 10) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The version of an object or of a list: what the API calls `resourceVersion`.
///
/// Two versions of one resource can be compared if both are decimal numbers without leading zeros
/// ([KEP-5504](https://kep.k8s.io/5504)): then [`PartialOrd`] orders them. Anything else is *opaque*: equal to itself
/// and comparable to nothing.
///
/// ```
/// use informer_core::ResourceVersion;
/// assert!(ResourceVersion::new("9") < ResourceVersion::new("10"));
/// assert_eq!(ResourceVersion::new("a").partial_cmp(&ResourceVersion::new("10")), None);
/// assert!(!ResourceVersion::new("0x1").is_ordered());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(VersionRepr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum VersionRepr {
    Number(u64),
    /// Decimal but too long for a `u64`, or not decimal at all.
    Text(Arc<str>),
}

impl ResourceVersion {
    /// The version with this text, which may be empty when a server sends none.
    pub fn new(text: &str) -> Self {
        let canonical = is_canonical_decimal(text);
        match text.parse() {
            Ok(number) if canonical => Self(VersionRepr::Number(number)),
            _ => Self(VersionRepr::Text(text.into())),
        }
    }

    /// Whether this version can be compared with others that can.
    pub fn is_ordered(&self) -> bool {
        match &self.0 {
            VersionRepr::Number(_) => true,
            VersionRepr::Text(text) => is_canonical_decimal(text),
        }
    }

    /// Whether the server sent no version at all.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, VersionRepr::Text(text) if text.is_empty())
    }
}

fn is_canonical_decimal(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

impl From<u64> for ResourceVersion {
    fn from(number: u64) -> Self {
        Self(VersionRepr::Number(number))
    }
}

impl PartialOrd for ResourceVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (VersionRepr::Number(a), VersionRepr::Number(b)) => Some(a.cmp(b)),
            _ if self == other => Some(Ordering::Equal),
            _ if self.is_ordered() && other.is_ordered() => {
                let (a, b) = (self.to_string(), other.to_string());
                Some(a.len().cmp(&b.len()).then_with(|| a.cmp(&b)))
            }
            _ => None,
        }
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            VersionRepr::Number(number) => write!(f, "{number}"),
            VersionRepr::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One version of an object as the cache holds it: who it is, and the decoded value.
///
/// The value is opaque to the core, so one store serves typed, dynamic, partial and packed objects alike.
// In this order: a lookup compares the key and counts a reference, which lie side by side then.
#[repr(C)]
pub struct Object<V> {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Which incarnation of that name.
    pub uid: Uid,
    /// Which version of that incarnation.
    pub version: ResourceVersion,
    /// The decoded value, shared with every reader.
    pub value: Arc<V>,
}

/// An object reads like its value: `pod.metadata` is `pod.value.metadata`.
impl<V> std::ops::Deref for Object<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V> fmt::Debug for Object<V> {
    /// Without the value, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{} ({})", self.key, self.version, self.uid)
    }
}

/// An object on its way into the store, with its index values.
pub struct Item<V> {
    /// The object.
    pub object: Arc<Object<V>>,
    /// Its values under each index.
    pub index_values: IndexValues,
}

impl<V> Clone for Item<V> {
    fn clone(&self) -> Self {
        Self { object: Arc::clone(&self.object), index_values: self.index_values.clone() }
    }
}

impl<V> fmt::Debug for Item<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.object, f)
    }
}
