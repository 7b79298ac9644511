//! The Lease object as JSON: the part an election reads and writes, everything else kept as it came.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informer_core::leader_election::{LeaderRecord, Stored};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Reads the record of a Lease. What is missing or senseless in it reads as not said.
///
/// # Errors
/// What is no Lease, in words free of its contents.
pub(super) fn read(lease: &Value) -> Result<Stored, &'static str> {
    let text = |field: &str| lease["metadata"][field].as_str().filter(|text| !text.is_empty());
    // Without the uid a write to a Lease that was deleted in between would make a new one, whatever version it names.
    let (Some(_), Some(version)) = (text("uid"), text("resourceVersion")) else {
        return Err("the answer is no object with a uid and a resourceVersion");
    };
    let spec = &lease["spec"];
    if !(spec.is_object() || spec.is_null()) {
        return Err("the Lease's spec is no object");
    }
    let holder = match &spec["holderIdentity"] {
        Value::Null => "",
        Value::String(holder) => holder,
        _ => return Err("the Lease's holderIdentity is no text"),
    };
    let seconds = spec["leaseDurationSeconds"].as_u64().filter(|&seconds| seconds > 0);
    let transitions = spec["leaseTransitions"].as_u64().unwrap_or_default().min(i32::MAX as u64);
    let record = LeaderRecord {
        holder: Arc::from(holder),
        lease_duration: seconds.map(Duration::from_secs),
        transitions: u32::try_from(transitions).unwrap_or_default(),
        acquired_us: time_us(&spec["acquireTime"]),
        renewed_us: time_us(&spec["renewTime"]),
    };
    Ok(Stored { record, version: Arc::from(version) })
}

/// The Lease that says this: `base` as it was read, or a new one, with the record and the labels put in.
pub(super) fn write(
    base: Option<&Value>,
    (namespace, name): (&str, &str),
    labels: &BTreeMap<String, String>,
    record: &LeaderRecord,
    version: Option<&str>,
) -> Value {
    let mut lease = base.cloned().unwrap_or_else(|| json!({}));
    let root = object(&mut lease);
    root.insert("apiVersion".into(), "coordination.k8s.io/v1".into());
    root.insert("kind".into(), "Lease".into());
    let metadata = object(root.entry("metadata").or_insert_with(|| json!({})));
    metadata.insert("name".into(), name.into());
    metadata.insert("namespace".into(), namespace.into());
    if let Some(version) = version {
        metadata.insert("resourceVersion".into(), version.into());
    }
    if !labels.is_empty() {
        let all = object(metadata.entry("labels").or_insert_with(|| json!({})));
        all.extend(labels.iter().map(|(label, value)| (label.clone(), value.as_str().into())));
    }
    let spec = object(root.entry("spec").or_insert_with(|| json!({})));
    match &*record.holder {
        // As in client-go: servers differ on what they think of an empty text.
        "" => spec.remove("holderIdentity"),
        holder => spec.insert("holderIdentity".into(), holder.into()),
    };
    if let Some(duration) = record.lease_duration {
        spec.insert("leaseDurationSeconds".into(), duration.as_secs().into());
    }
    spec.insert("leaseTransitions".into(), record.transitions.into());
    for (field, time_us) in [("acquireTime", record.acquired_us), ("renewTime", record.renewed_us)] {
        if let Some(text) = time_us.and_then(time_text) {
            spec.insert(field.into(), text.into());
        }
    }
    lease
}

/// The object in this place; whatever else was there is replaced by an empty one.
fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was just made one")
}

fn time_us(value: &Value) -> Option<i64> {
    value.as_str()?.parse::<Timestamp>().ok().map(Timestamp::as_microsecond)
}

/// A `MicroTime`: always six digits.
fn time_text(time_us: i64) -> Option<String> {
    let time = Timestamp::from_microsecond(time_us).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `TestLeaseSpecToLeaderElectionRecordRoundTrip`, `TestLeaseConversion`
    #[test]
    fn a_record_survives_the_way_there_and_back() {
        let record = LeaderRecord {
            holder: "a".into(),
            lease_duration: Some(Duration::from_secs(15)),
            transitions: 7,
            acquired_us: Some(1_767_000_000_000_001),
            renewed_us: Some(1_767_000_000_123_456),
        };
        let mut lease = write(None, ("ns", "name"), &BTreeMap::new(), &record, Some("12"));
        lease["metadata"]["uid"] = "u".into();
        assert_eq!(lease["spec"]["renewTime"], "2025-12-29T09:20:00.123456Z");
        assert_eq!(read(&lease), Ok(Stored { record, version: "12".into() }));
    }

    /// `TestLabelUpdate`, `TestUpdateWithNilLabelsOnLease`
    #[test]
    fn what_is_foreign_stays_and_our_labels_come_back() {
        let record = read(&json!({"metadata": {"uid": "u", "resourceVersion": "1"}})).unwrap().record;
        let ours = BTreeMap::from([("app".to_owned(), "x".to_owned())]);
        for labels in [Value::Null, json!({}), json!({"app": "changed"}), json!("no labels")] {
            let base = json!({
                "metadata": {"name": "l", "resourceVersion": "3", "uid": "u", "labels": labels, "annotations": {"k": "v"}},
                "spec": {"holderIdentity": "b", "strategy": "OldestEmulationVersion", "preferredHolder": "c", "later": 1},
            });
            let lease = write(Some(&base), ("ns", "l"), &ours, &record, Some("3"));
            assert_eq!(lease["metadata"]["labels"], json!({"app": "x"}));
            assert_eq!(lease["metadata"]["annotations"], json!({"k": "v"}));
            assert_eq!(lease["metadata"]["uid"], "u", "a Lease made anew in between is not replaced");
            let spec = &lease["spec"];
            assert_eq!(spec["strategy"], "OldestEmulationVersion");
            assert_eq!((&spec["preferredHolder"], &spec["later"]), (&json!("c"), &json!(1)));
            assert_eq!(spec.get("holderIdentity"), None);
        }
        let foreign = json!({"metadata": {"labels": {"theirs": "1"}}});
        let lease = write(Some(&foreign), ("ns", "l"), &ours, &record, None);
        assert_eq!(lease["metadata"]["labels"], json!({"app": "x", "theirs": "1"}));
    }

    #[test]
    fn a_lease_by_anybody_reads_as_far_as_it_makes_sense() {
        let of = |spec: Value| {
            read(&json!({"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": spec}))
                .map(|read| read.record)
        };
        for spec in [Value::Null, json!({}), json!({"holderIdentity": null, "renewTime": "yesterday"})] {
            let record = of(spec).unwrap();
            assert_eq!((&*record.holder, record.lease_duration, record.transitions), ("", None, 0));
            assert_eq!((record.acquired_us, record.renewed_us), (None, None));
        }
        for seconds in [json!(0), json!(-5), json!("15"), json!(1.5)] {
            assert_eq!(of(json!({"leaseDurationSeconds": seconds})).unwrap().lease_duration, None);
        }
        let of_transitions =
            |transitions: Value| of(json!({"leaseTransitions": transitions})).unwrap().transitions;
        assert_eq!(of_transitions(json!(-1)), 0);
        assert_eq!(of_transitions(json!(u64::MAX)), i32::MAX as u32);
        assert!(of(json!({"holderIdentity": 5})).is_err() && of(json!([])).is_err());
    }

    #[test]
    fn what_is_no_lease_is_refused() {
        for answer in [
            json!(null),
            json!([]),
            json!({"kind": "Status"}),
            json!({"metadata": {"uid": "u"}}),
            json!({"metadata": {"resourceVersion": "1"}}),
        ] {
            assert!(read(&answer).is_err(), "{answer}");
        }
    }
}
