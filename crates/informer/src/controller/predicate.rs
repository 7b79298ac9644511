//! Which changes are worth a reconcile.

use std::fmt;
use std::ops::Not;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use informer_core::{Object, Selector};

use crate::store::MetaFunctions;

/// Which changes of a resource a [`Controller`](crate::Controller) acts on.
///
/// A predicate is asked with the old object and the new one when an object changed; and with the object alone, as if it
/// had just appeared, when one was added or deleted or comes with a resync, and when a name was deleted and created
/// again. So [`generation_changed`](Self::generation_changed) lets all of these pass: a deletion always has to be acted
/// upon, the generation of another incarnation says nothing, and a resync would be of no use otherwise.
///
/// A predicate that panics counts as passed: one reconcile too many is better than one too few.
///
/// ```
/// use informer::Predicate;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let desired = Predicate::<Pod>::generation_changed().or(Predicate::annotations_changed());
/// let ours = Predicate::new(|_old, pod: &informer::Object<Pod>| pod.spec.is_some());
/// let both = desired.and(ours);
/// let none_of_them = !Predicate::selector("app=web".parse()?).or(both);
/// # drop(none_of_them);
/// # Ok::<(), informer::SelectorParseError>(())
/// ```
pub struct Predicate<V>(Arc<Node<V>>);

type Custom<V> = Box<dyn Fn(Option<&Object<V>>, &Object<V>) -> bool + Send + Sync>;

enum Node<V> {
    Always,
    Generation,
    Labels,
    Annotations,
    Selector(Selector),
    Custom(Custom<V>),
    Both(Predicate<V>, Predicate<V>),
    Either(Predicate<V>, Predicate<V>),
    Not(Predicate<V>),
}

impl<V> Predicate<V> {
    /// Any function of the old object, if there is one, and the new one. It must not block.
    pub fn new(predicate: impl Fn(Option<&Object<V>>, &Object<V>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(Node::Custom(Box::new(predicate))))
    }

    /// `metadata.generation` changed: the desired state did, not merely status or metadata.
    ///
    /// Passes each change of a resource without generations (ConfigMaps have none).
    #[doc(alias = "GenerationChangedPredicate")]
    pub fn generation_changed() -> Self {
        Self(Arc::new(Node::Generation))
    }

    /// A label came, went or changed.
    #[doc(alias = "LabelChangedPredicate")]
    pub fn labels_changed() -> Self {
        Self(Arc::new(Node::Labels))
    }

    /// An annotation came, went or changed.
    #[doc(alias = "AnnotationChangedPredicate")]
    pub fn annotations_changed() -> Self {
        Self(Arc::new(Node::Annotations))
    }

    /// The labels match, or did before the change: an object that ceases to match is acted upon once more.
    #[doc(alias = "LabelSelectorPredicate")]
    pub fn selector(selector: Selector) -> Self {
        Self(Arc::new(Node::Selector(selector)))
    }

    /// Both pass; the other one is not asked if this one does not.
    pub fn and(self, other: Self) -> Self {
        Self(Arc::new(Node::Both(self, other)))
    }

    /// One of them passes; the other one is not asked if this one does.
    pub fn or(self, other: Self) -> Self {
        Self(Arc::new(Node::Either(self, other)))
    }

    /// Everything passes.
    pub(super) fn always() -> Self {
        Self(Arc::new(Node::Always))
    }

    /// `None` if the predicate panicked.
    pub(super) fn passes(
        &self,
        meta: &MetaFunctions<V>,
        old: Option<&Object<V>>,
        new: &Object<V>,
    ) -> Option<bool> {
        // Another incarnation has nothing to do with the one before.
        let old = old.filter(|old| old.uid == new.uid);
        catch_unwind(AssertUnwindSafe(|| self.ask(meta, old, new))).ok()
    }

    fn ask(&self, meta: &MetaFunctions<V>, old: Option<&Object<V>>, new: &Object<V>) -> bool {
        let changed = |same: &dyn Fn(&V, &V) -> bool| old.is_none_or(|old| !same(&old.value, &new.value));
        match &*self.0 {
            Node::Always => true,
            Node::Generation => changed(&|old, new| {
                let generation = (meta.generation)(new);
                generation.is_some() && (meta.generation)(old) == generation
            }),
            Node::Labels => changed(&meta.same_labels),
            Node::Annotations => changed(&meta.same_annotations),
            Node::Selector(selector) => {
                let matches = |object: &Object<V>| selector.matches(|name| (meta.label)(&object.value, name));
                matches(new) || old.is_some_and(matches)
            }
            Node::Custom(custom) => custom(old, new),
            Node::Both(one, other) => one.ask(meta, old, new) && other.ask(meta, old, new),
            Node::Either(one, other) => one.ask(meta, old, new) || other.ask(meta, old, new),
            Node::Not(predicate) => !predicate.ask(meta, old, new),
        }
    }
}

/// What the predicate does not let pass. That may be every deletion, as for `!Predicate::generation_changed()`.
impl<V> Not for Predicate<V> {
    type Output = Self;

    fn not(self) -> Self {
        Self(Arc::new(Node::Not(self)))
    }
}

impl<V> Clone for Predicate<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> fmt::Debug for Predicate<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Node::Always => f.write_str("always"),
            Node::Generation => f.write_str("generation_changed"),
            Node::Labels => f.write_str("labels_changed"),
            Node::Annotations => f.write_str("annotations_changed"),
            Node::Selector(selector) => write!(f, "selector({selector})"),
            Node::Custom(_) => f.write_str("custom"),
            Node::Both(one, other) => write!(f, "({one:?} and {other:?})"),
            Node::Either(one, other) => write!(f, "({one:?} or {other:?})"),
            Node::Not(predicate) => write!(f, "not {predicate:?}"),
        }
    }
}
