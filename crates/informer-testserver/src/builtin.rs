//! The built-in kinds, one line each.

use crate::registry::Resource;

const NAMESPACED: u8 = 1;
const STATUS: u8 = 2;
const GENERATION: u8 = 4;
const ALL: u8 = 8;
const RETURNS_DELETED: u8 = 16;
const CREATE_ON_UPDATE: u8 = 32;

const NS: u8 = NAMESPACED;
/// A namespaced workload: status, generation, in category "all".
const WORKLOAD: u8 = NAMESPACED | STATUS | GENERATION | ALL;

/// plural, singular, kind, short names, flags, further top-level fields
type Row = (&'static str, &'static str, &'static str, &'static [&'static str], u8, &'static [&'static str]);

const CORE: &[Row] = &[
    ("configmaps", "configmap", "ConfigMap", &["cm"], NS, &["data", "binaryData", "immutable"]),
    ("endpoints", "endpoints", "Endpoints", &["ep"], NS | CREATE_ON_UPDATE, &["subsets"]),
    ("events", "event", "Event", &["ev"], NS | CREATE_ON_UPDATE, EVENT_FIELDS),
    ("limitranges", "limitrange", "LimitRange", &["limits"], NS, &["spec"]),
    ("namespaces", "namespace", "Namespace", &["ns"], STATUS, &["spec"]),
    ("nodes", "node", "Node", &["no"], STATUS, &["spec"]),
    (
        "persistentvolumeclaims",
        "persistentvolumeclaim",
        "PersistentVolumeClaim",
        &["pvc"],
        NS | STATUS | RETURNS_DELETED,
        &["spec"],
    ),
    (
        "persistentvolumes",
        "persistentvolume",
        "PersistentVolume",
        &["pv"],
        STATUS | RETURNS_DELETED,
        &["spec"],
    ),
    ("pods", "pod", "Pod", &["po"], WORKLOAD | RETURNS_DELETED, &["spec"]),
    ("podtemplates", "podtemplate", "PodTemplate", &[], NS | GENERATION | RETURNS_DELETED, &["template"]),
    (
        "replicationcontrollers",
        "replicationcontroller",
        "ReplicationController",
        &["rc"],
        WORKLOAD,
        &["spec"],
    ),
    (
        "resourcequotas",
        "resourcequota",
        "ResourceQuota",
        &["quota"],
        NS | STATUS | RETURNS_DELETED,
        &["spec"],
    ),
    ("secrets", "secret", "Secret", &[], NS, &["data", "stringData", "immutable", "type"]),
    (
        "serviceaccounts",
        "serviceaccount",
        "ServiceAccount",
        &["sa"],
        NS | RETURNS_DELETED,
        &["secrets", "imagePullSecrets", "automountServiceAccountToken"],
    ),
    ("services", "service", "Service", &["svc"], NS | STATUS | ALL | RETURNS_DELETED, &["spec"]),
];

const EVENT_FIELDS: &[&str] = &[
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "series",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
    "regarding",
    "note",
    "reportingController",
    "deprecatedSource",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
    "deprecatedCount",
];

const APPS: &[Row] = &[
    ("controllerrevisions", "controllerrevision", "ControllerRevision", &[], NS, &["data", "revision"]),
    ("daemonsets", "daemonset", "DaemonSet", &["ds"], WORKLOAD, &["spec"]),
    ("deployments", "deployment", "Deployment", &["deploy"], WORKLOAD, &["spec"]),
    ("replicasets", "replicaset", "ReplicaSet", &["rs"], WORKLOAD, &["spec"]),
    ("statefulsets", "statefulset", "StatefulSet", &["sts"], WORKLOAD, &["spec"]),
];

const BATCH: &[Row] = &[
    ("cronjobs", "cronjob", "CronJob", &["cj"], WORKLOAD, &["spec"]),
    ("jobs", "job", "Job", &[], WORKLOAD, &["spec"]),
];

const RBAC: &[Row] = &[
    (
        "clusterrolebindings",
        "clusterrolebinding",
        "ClusterRoleBinding",
        &[],
        CREATE_ON_UPDATE,
        &["subjects", "roleRef"],
    ),
    ("clusterroles", "clusterrole", "ClusterRole", &[], CREATE_ON_UPDATE, &["rules", "aggregationRule"]),
    ("rolebindings", "rolebinding", "RoleBinding", &[], NS | CREATE_ON_UPDATE, &["subjects", "roleRef"]),
    ("roles", "role", "Role", &[], NS | CREATE_ON_UPDATE, &["rules"]),
];

const NETWORKING: &[Row] = &[
    ("ingressclasses", "ingressclass", "IngressClass", &[], GENERATION, &["spec"]),
    ("ingresses", "ingress", "Ingress", &["ing"], NS | STATUS | GENERATION, &["spec"]),
    ("networkpolicies", "networkpolicy", "NetworkPolicy", &["netpol"], NS | GENERATION, &["spec"]),
];

const STORAGE_CLASS_FIELDS: &[&str] = &[
    "provisioner",
    "parameters",
    "reclaimPolicy",
    "mountOptions",
    "allowVolumeExpansion",
    "volumeBindingMode",
    "allowedTopologies",
];

const GROUPS: &[(&str, &str, &[Row])] = &[
    ("", "v1", CORE),
    ("apps", "v1", APPS),
    ("events.k8s.io", "v1", &[("events", "event", "Event", &["ev"], NS | CREATE_ON_UPDATE, EVENT_FIELDS)]),
    (
        "autoscaling",
        "v2",
        &[(
            "horizontalpodautoscalers",
            "horizontalpodautoscaler",
            "HorizontalPodAutoscaler",
            &["hpa"],
            NS | STATUS | ALL,
            &["spec"],
        )],
    ),
    ("batch", "v1", BATCH),
    ("networking.k8s.io", "v1", NETWORKING),
    (
        "policy",
        "v1",
        &[(
            "poddisruptionbudgets",
            "poddisruptionbudget",
            "PodDisruptionBudget",
            &["pdb"],
            NS | STATUS | GENERATION,
            &["spec"],
        )],
    ),
    ("rbac.authorization.k8s.io", "v1", RBAC),
    (
        "storage.k8s.io",
        "v1",
        &[("storageclasses", "storageclass", "StorageClass", &["sc"], 0, STORAGE_CLASS_FIELDS)],
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        &[(
            "customresourcedefinitions",
            "customresourcedefinition",
            "CustomResourceDefinition",
            &["crd", "crds"],
            STATUS | GENERATION,
            &["spec"],
        )],
    ),
    (
        "scheduling.k8s.io",
        "v1",
        &[(
            "priorityclasses",
            "priorityclass",
            "PriorityClass",
            &["pc"],
            GENERATION,
            &["value", "globalDefault", "description", "preemptionPolicy"],
        )],
    ),
    ("coordination.k8s.io", "v1", &[("leases", "lease", "Lease", &[], NS | CREATE_ON_UPDATE, &["spec"])]),
    (
        "discovery.k8s.io",
        "v1",
        &[(
            "endpointslices",
            "endpointslice",
            "EndpointSlice",
            &[],
            NS | GENERATION,
            &["addressType", "endpoints", "ports"],
        )],
    ),
];

/// Every built-in resource, with table 0: the registry numbers them.
pub(crate) fn resources() -> impl Iterator<Item = Resource> {
    GROUPS.iter().flat_map(|(group, version, rows)| rows.iter().map(move |row| resource(group, version, row)))
}

fn resource(group: &str, version: &str, row: &Row) -> Resource {
    let (plural, singular, kind, short_names, flags, top_fields) = *row;
    let has = |flag| flags & flag != 0;
    let mut categories = Vec::new();
    if has(ALL) {
        categories.push("all".to_owned());
    }
    if group == "apiextensions.k8s.io" {
        categories.push("api-extensions".to_owned());
    }
    Resource {
        table: 0,
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        list_kind: format!("{kind}List"),
        plural: plural.into(),
        singular: singular.into(),
        short_names: short_names.iter().map(|&name| name.to_owned()).collect(),
        categories,
        namespaced: has(NAMESPACED),
        builtin: true,
        has_status: has(STATUS),
        has_generation: has(GENERATION),
        returns_deleted: has(RETURNS_DELETED),
        create_on_update: has(CREATE_ON_UPDATE),
        top_fields,
        subresources: match plural {
            "namespaces" => &[("finalize", "Namespace", &["update"])],
            "pods" => &[("binding", "Binding", &["create"]), ("eviction", "Eviction", &["create"])],
            "deployments" | "replicasets" | "statefulsets" => {
                &[("scale", "Scale", &["get", "patch", "update"])]
            }
            _ => &[],
        },
        custom: None,
    }
}
