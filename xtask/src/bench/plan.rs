//! The rows: what each measures, of whom, and against which server.

use super::Side;

/// A row of the benchmark that runs clients against a server.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) row: &'static str,
    pub(crate) about: &'static str,
    pub(crate) server: Server,
    /// What the server has: `pod-5k`, `pod-9k`, `widget`, `pod-large` or `pod-odd`.
    pub(crate) kind: &'static str,
    pub(crate) objects: usize,
    /// How many objects at most are in a namespace; there are 100 namespaces at least, if there are so many objects.
    pub(crate) in_namespace: usize,
    /// What is cached: the clients' `--format`. A format that ours does not know yet is left out.
    pub(crate) format: &'static str,
    pub(crate) handlers: usize,
    /// Several are of a namespace each, without objects.
    pub(crate) informers: usize,
    pub(crate) sides: &'static [Side],
    /// Whether the first sync is of interest: not where another row has measured the same.
    pub(crate) with_sync: bool,
    pub(crate) steps: &'static [Step],
}

/// Who serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    /// The benchmark's own: JSON over plain HTTP.
    Own,
    /// kube-apiserver with etcd, over TLS.
    Real,
}

/// What happens to a client after its start, which is always measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// 5 % of the objects change unseen, and the version is lost.
    Relist,
    /// That many objects change, as fast as they are taken.
    Events(usize),
    /// Reads of all kinds.
    Reads,
    /// A minute in which nothing happens.
    Idle,
}

const ALL: &[Side] = &Side::ALL;
const OURS: &[Side] = &[Side::Ours];

/// Handlers of the row that is about them.
pub(crate) const HANDLERS: usize = 64;

/// Percent of the objects that a relist finds changed.
pub(crate) const CHANGED_PERCENT: usize = 5;

/// What most rows are like.
const PODS: Plan = Plan {
    row: "",
    about: "",
    server: Server::Own,
    kind: "pod-5k",
    objects: 20_000,
    in_namespace: 500,
    format: "typed",
    handlers: 1,
    informers: 1,
    sides: ALL,
    with_sync: true,
    steps: &[],
};

/// The rows, in the order of the table.
pub(crate) const PLANS: &[Plan] = &[
    Plan {
        row: "typed",
        about: "k8s-openapi Pods: first sync, relist, watch",
        steps: &[Step::Relist, Step::Events(20_000)],
        ..PODS
    },
    Plan {
        row: "typed-9k",
        about: "the same with Pods of 9 KB: first sync",
        kind: "pod-9k",
        objects: 10_000,
        ..PODS
    },
    Plan {
        row: "crd",
        about: "a custom resource as dynamic objects: first sync, watch",
        kind: "widget",
        format: "dynamic",
        steps: &[Step::Events(20_000)],
        ..PODS
    },
    Plan {
        row: "metadata",
        about: "metadata only: first sync, relist, watch",
        format: "metadata",
        steps: &[Step::Relist, Step::Events(20_000)],
        ..PODS
    },
    Plan {
        row: "projection",
        about: "a projection of Pods: first sync, relist, watch",
        format: "projection",
        sides: OURS,
        steps: &[Step::Relist, Step::Events(20_000)],
        ..PODS
    },
    Plan {
        row: "packed",
        about: "packed Pods: first sync, relist, watch",
        format: "packed",
        sides: OURS,
        steps: &[Step::Relist, Step::Events(20_000)],
        ..PODS
    },
    Plan {
        row: "fan-out",
        about: "64 handlers: watch (with fan-out-1: cost of a handler)",
        format: "metadata",
        objects: 5_000,
        handlers: HANDLERS,
        with_sync: false,
        steps: &[Step::Events(5_000), Step::Events(5_000)],
        ..PODS
    },
    Plan {
        row: "fan-out-1",
        about: "one handler, to compare 64 with: watch",
        format: "metadata",
        objects: 5_000,
        with_sync: false,
        steps: &[Step::Events(5_000), Step::Events(5_000)],
        ..PODS
    },
    Plan {
        row: "reads",
        about: "reads of 100 namespaces of 500",
        objects: 50_000,
        with_sync: false,
        steps: &[Step::Reads],
        ..PODS
    },
    Plan {
        row: "million",
        about: "1,000,000 packed Pods: memory, reads",
        format: "packed",
        objects: 1_000_000,
        sides: OURS,
        steps: &[Step::Reads],
        ..PODS
    },
    Plan {
        row: "large",
        about: "Pods of 1.5 MB, 200 MB in one page: first sync, relist",
        kind: "pod-large",
        objects: 134,
        format: "metadata",
        sides: OURS,
        steps: &[Step::Relist],
        ..PODS
    },
    Plan {
        row: "large-typed",
        about: "the same as k8s-openapi Pods",
        kind: "pod-large",
        objects: 134,
        steps: &[Step::Relist],
        ..PODS
    },
    Plan {
        row: "odd",
        about: "100,000 Pods in 10,000 namespaces, names of 253 characters, 100,000 values of the indexed label",
        kind: "pod-odd",
        objects: 100_000,
        in_namespace: 10,
        sides: OURS,
        steps: &[Step::Relist, Step::Events(20_000), Step::Reads],
        ..PODS
    },
    Plan { row: "many", about: "200 informers in one process", objects: 1_000, informers: 200, ..PODS },
    Plan { row: "idle", about: "an idle minute", objects: 1_000, steps: &[Step::Idle], ..PODS },
    Plan { row: "real-typed", about: "real server: Pods", server: Server::Real, objects: 5_000, ..PODS },
    Plan {
        row: "real-metadata",
        about: "real server: metadata only",
        server: Server::Real,
        objects: 5_000,
        format: "metadata",
        ..PODS
    },
    Plan {
        row: "real-projection",
        about: "real server: a projection",
        server: Server::Real,
        objects: 5_000,
        format: "projection",
        sides: OURS,
        ..PODS
    },
    Plan {
        row: "real-packed",
        about: "real server: packed",
        server: Server::Real,
        objects: 5_000,
        format: "packed",
        sides: OURS,
        ..PODS
    },
];
