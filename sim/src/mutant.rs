//! Faults of the shell or the server that no checker may let pass.

/// A deliberate fault: the proof that a checker can fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// The server does not send some deletions in a watch.
    LostDelete,
    /// The server sends what has left the selector as a modification.
    IgnoresSelector,
    /// The server's bookmarks run ahead of its events.
    EarlyBookmark,
    /// The server's lists say an older version than theirs.
    OldListVersion,
    /// The driver loses some batches.
    DropsDeliver,
    /// The driver hands on the last two notifications of an object in the wrong order.
    SwapsNotifications,
    /// The driver delivers some batches twice.
    DeliversTwice,
    /// The driver does not hand on some additions.
    DropsAdded,
    /// The driver hands on the new object as the old one.
    WrongOld,
    /// The driver hands on the marker before the initial list.
    SyncedFirst,
    /// The index function depends on more than the object.
    WrongIndexValues,
    /// Backlogs are longer than they were asked to be.
    LongBacklog,
    /// The driver starts over at each failure, and so forgets to back off.
    NoBackOff,
    /// The driver does not apply what follows from the end of a resource.
    KeepsGone,
    /// The driver swallows what the server says against its own order.
    SwallowsWentBack,
}
