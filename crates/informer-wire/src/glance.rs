//! Who an object claims to be, read no further than needed.

use std::borrow::Cow;

use crate::cursor::ObjectCursor;
use crate::error::WireError;
use crate::value::skip_space;

/// Name, uid and version of an object, and its namespace if that stands before the last of them.
///
/// For whoever asks first if this very version is known: where servers write the metadata first, the rest of the object is not
/// looked at. What follows is not checked either, so only an uid and a version that are known already may be believed; for
/// anything else there is [`ObjectMeta::scan`](crate::ObjectMeta::scan).
///
/// ```
/// use informer_wire::Glance;
///
/// let seen = Glance::at(br#"{"metadata":{"name":"a","uid":"u1","resourceVersion":"42","labels":{}},"spec":"#).unwrap();
/// assert_eq!((&*seen.name, &*seen.uid, &*seen.resource_version), ("a", "u1", "42"));
/// assert!(Glance::at(br#"{"metadata":{"name":"a"}}"#).is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Glance<'a> {
    /// Empty if the object has none, or if it comes late.
    pub namespace: Cow<'a, str>,
    /// Never empty.
    pub name: Cow<'a, str>,
    /// Never empty.
    pub uid: Cow<'a, str>,
    /// Never empty.
    pub resource_version: Cow<'a, str>,
}

impl<'a> Glance<'a> {
    /// Reads until all is known; `None` if something is missing or is not what it should be.
    pub fn at(bytes: &'a [u8]) -> Option<Self> {
        read(bytes).ok().flatten()
    }
}

fn read(bytes: &[u8]) -> Result<Option<Glance<'_>>, WireError> {
    let mut object = ObjectCursor::enter(bytes, skip_space(bytes, 0), 0)?;
    while let Some((key, _)) = object.next_key()? {
        if key == "metadata" {
            return read_metadata(&mut object.child()?);
        }
        object.skip()?;
    }
    Ok(None)
}

fn read_metadata<'a>(metadata: &mut ObjectCursor<'a>) -> Result<Option<Glance<'a>>, WireError> {
    let (mut namespace, mut name, mut uid, mut version) = (None, None, None, None);
    while name.is_none() || uid.is_none() || version.is_none() {
        let Some((key, _)) = metadata.next_key()? else { return Ok(None) };
        match &*key {
            "namespace" => namespace = metadata.text("namespace")?,
            "name" => name = metadata.text("name")?,
            "uid" => uid = metadata.text("uid")?,
            "resourceVersion" => version = metadata.text("resourceVersion")?,
            _ => _ = metadata.skip()?,
        }
    }
    Ok(name.zip(uid).zip(version).map(|((name, uid), resource_version)| Glance {
        namespace: namespace.unwrap_or_default(),
        name,
        uid,
        resource_version,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectMeta;

    #[test]
    fn a_glance_sees_what_a_scan_sees() {
        let objects = [
            r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","managedFields":[{}]},"spec":{}}"#,
            r#" {"spec":{"metadata":{"name":"x"}},"metadata":{"labels":{"uid":"no"},"namespace":"n","resourceVersion":"7","uid":"\u0075","name":"a"}}"#,
        ];
        for object in objects {
            let seen = Glance::at(object.as_bytes()).unwrap();
            let scan = ObjectMeta::scan(object.as_bytes()).unwrap();
            assert_eq!((&*seen.namespace, &*seen.name), (scan.namespace().unwrap(), scan.name()));
            assert_eq!(
                (Some(&*seen.uid), Some(&*seen.resource_version)),
                (scan.uid(), scan.resource_version())
            );
        }
    }

    #[test]
    fn what_is_not_there_is_not_guessed() {
        for object in [
            "",
            "[]",
            "{}",
            r#"{"metadata":null}"#,
            r#"{"metadata":{"name":"a","uid":"","resourceVersion":"7"}}"#,
            r#"{"metadata":{"name":"a","uid":5,"resourceVersion":"7"}}"#,
            r#"{"metadata":{"name":"a","uid":"u"}}"#,
            r#"{"metadata":{"name":"a","uid":"u","resourceV"#,
        ] {
            assert_eq!(Glance::at(object.as_bytes()), None, "{object}");
        }
    }
}
