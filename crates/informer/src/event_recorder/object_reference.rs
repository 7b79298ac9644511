//! Which object an event is about.

use std::fmt;
use std::hash::{Hash, Hasher};

use informer_core::ObjectKey;
use k8s_openapi::api::core::v1::ObjectReference as ApiReference;
use kube::core::GroupVersionKind;

/// Which object an event is about, from any object of a typed resource (`(&pod).into()`), from a
/// [dynamic](Self::dynamic) one, or from a [key](Self::of_key).
///
/// ```
/// use informer::{ObjectKey, ObjectReference};
/// use informer::kube::core::GroupVersionKind;
/// use k8s_openapi::api::core::v1::Node;
///
/// let mut node = Node::default();
/// node.metadata.name = Some("node-1".into());
/// assert_eq!(ObjectReference::from(&node).to_string(), "Node node-1");
///
/// let foo = GroupVersionKind::gvk("example.com", "v1", "Foo");
/// let foo = ObjectReference::of_key(&ObjectKey::new("team-a", "a"), &foo).field_path("spec.replicas");
/// assert_eq!(foo.to_string(), "Foo team-a/a");
/// ```
#[doc(alias = "GetReference")]
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ObjectReference {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) field_path: String,
}

impl ObjectReference {
    /// Of an object whose type is known at run time only: a `DynamicObject` and its `ApiResource`.
    pub fn dynamic<K: kube::Resource>(object: &K, dynamic_type: &K::DynamicType) -> Self {
        let meta = object.meta();
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self {
            api_version: K::api_version(dynamic_type).into_owned(),
            kind: K::kind(dynamic_type).into_owned(),
            namespace: text(&meta.namespace),
            name: text(&meta.name),
            uid: text(&meta.uid),
            resource_version: text(&meta.resource_version),
            field_path: String::new(),
        }
    }

    /// Of an object of which only the key is known. Without a uid the event is about whatever has this name.
    pub fn of_key(key: &ObjectKey, kind: &GroupVersionKind) -> Self {
        Self {
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            namespace: key.namespace().to_owned(),
            name: key.name().to_owned(),
            ..Self::default()
        }
    }

    /// The incarnation that is meant.
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = uid.into();
        self
    }

    /// The part of the object that is meant: `spec.containers{web}`.
    pub fn field_path(mut self, path: impl Into<String>) -> Self {
        self.field_path = path.into();
        self
    }

    /// The namespace, "" for a cluster-scoped object.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// What tells one incarnation of an object from all others. Not the version: an object that changes is the same one.
    pub(super) fn identity(&self) -> [&str; 5] {
        [&self.api_version, &self.kind, &self.namespace, &self.name, &self.uid]
    }

    pub(super) fn to_api(&self) -> ApiReference {
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        ApiReference {
            api_version: some(&self.api_version),
            kind: some(&self.kind),
            namespace: some(&self.namespace),
            name: some(&self.name),
            uid: some(&self.uid),
            resource_version: some(&self.resource_version),
            field_path: some(&self.field_path),
        }
    }
}

impl<K: kube::Resource<DynamicType = ()>> From<&K> for ObjectReference {
    fn from(object: &K) -> Self {
        Self::dynamic(object, &())
    }
}

impl From<ApiReference> for ObjectReference {
    fn from(reference: ApiReference) -> Self {
        Self {
            api_version: reference.api_version.unwrap_or_default(),
            kind: reference.kind.unwrap_or_default(),
            namespace: reference.namespace.unwrap_or_default(),
            name: reference.name.unwrap_or_default(),
            uid: reference.uid.unwrap_or_default(),
            resource_version: reference.resource_version.unwrap_or_default(),
            field_path: reference.field_path.unwrap_or_default(),
        }
    }
}

impl Hash for ObjectReference {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

/// `Pod team-a/web-0`.
impl fmt::Display for ObjectReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

impl fmt::Debug for ObjectReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
