//! Whether an informer's cache, indices and handlers equal the server's own list.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use informer::{Object, ObjectKey, ResourceVersion, Uid};
use serde_json::Value;
use tokio::time::timeout;

use crate::api::{Api, Truth, version_of};
use crate::content::Content;
use crate::outcome::{Result, ensure};
use crate::watched::Watched;

/// How many differences are printed.
const DIFFERENCES_SHOWN: usize = 5;
/// The server itself writes now and then: a list that is never reached is asked for again.
const ATTEMPTS: usize = 3;
/// How long one list is waited for.
const PATIENCE: Duration = Duration::from_secs(12);

/// Waits until everything equals the server's list, and fails with the differences if that does not happen.
///
/// Nobody may be writing to the scope's objects.
pub(crate) async fn assert_equal_to_server<V: Content>(watched: &Watched<V>, api: &Api) -> Result {
    let mut changed = watched.changed.subscribe();
    let mut attempt = 1;
    let truth = loop {
        let truth = api.list(&watched.scope).await?;
        let wanted = identities(&truth);
        let equal = async {
            loop {
                changed.mark_unchanged();
                if differences(watched, &wanted).is_empty() {
                    return;
                }
                let _ = changed.changed().await;
            }
        };
        if timeout(PATIENCE, equal).await.is_ok() {
            break truth;
        }
        let seen = differences(watched, &wanted);
        ensure!(attempt < ATTEMPTS, "{}: {}", watched.informer.status().informer, Shown(&seen));
        attempt += 1;
    };
    check_values(watched, &truth)?;
    check_indexes(watched, &truth)?;
    check_namespaces(watched, &truth)?;
    check_versions(watched, &truth)?;
    for witness in &watched.witnesses {
        let history = witness.history();
        ensure!(history.violations.is_empty(), "{}: {}", witness.name, Shown(&history.violations));
    }
    Ok(())
}

/// Who an object is: what has to be equal first.
type Identities = BTreeMap<ObjectKey, (Uid, ResourceVersion)>;

fn identities(truth: &Truth) -> Identities {
    let uid = |object: &Value| Uid::new(object["metadata"]["uid"].as_str().unwrap_or_default());
    truth.objects.iter().map(|(key, object)| (key.clone(), (uid(object), version_of(object)))).collect()
}

fn differences<V: Content>(watched: &Watched<V>, wanted: &Identities) -> Vec<String> {
    let store = watched.informer.store().list();
    let mut all = compare("the cache", wanted, store.iter().map(|object| &**object));
    for witness in &watched.witnesses {
        all.extend(compare(witness.name, wanted, witness.history().held.values().map(|object| &**object)));
    }
    all
}

fn compare<'a, V: 'a>(
    who: &str,
    wanted: &Identities,
    has: impl Iterator<Item = &'a Object<V>>,
) -> Vec<String> {
    let mut missing: BTreeSet<&ObjectKey> = wanted.keys().collect();
    let mut differences = Vec::new();
    for object in has {
        missing.remove(&object.key);
        match wanted.get(&object.key) {
            None => differences.push(format!("{who} has {object:?}, the server has not")),
            Some((uid, version)) if *uid != object.uid || *version != object.version => {
                differences.push(format!("{who} has {object:?}, the server has version {version} ({uid})"));
            }
            Some(_) => {}
        }
    }
    differences.extend(missing.iter().map(|key| format!("{who} lacks {key}, version {}", wanted[*key].1)));
    differences
}

fn check_values<V: Content>(watched: &Watched<V>, truth: &Truth) -> Result {
    for object in watched.informer.store().list() {
        // One that came since the list was made is the next check's.
        let Some(item) = truth.objects.get(&object.key).filter(|item| version_of(item) == object.version)
        else {
            continue;
        };
        let mut position = String::new();
        let same = same(&object.value.content()?, &V::expected(item)?, &mut position);
        ensure!(same, "the cache's {object:?} is not what the server has at {position}");
    }
    Ok(())
}

/// Whether two values are equal; if not, `position` leads to where they differ.
fn same(a: &Value, b: &Value, position: &mut String) -> bool {
    let before = position.len();
    let equal = match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            names.into_iter().all(|name| {
                position.truncate(before);
                *position += &format!("/{name}");
                matches!((a.get(name), b.get(name)), (Some(a), Some(b)) if same(a, b, position))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().all(|(number, (a, b))| {
                position.truncate(before);
                *position += &format!("/{number}");
                same(a, b, position)
            })
        }
        _ => a == b,
    };
    if equal {
        position.truncate(before);
    }
    equal
}

fn check_indexes<V: Content>(watched: &Watched<V>, truth: &Truth) -> Result {
    for (spec, index) in &watched.indexes {
        let mut wanted = BTreeMap::<String, Vec<ObjectKey>>::new();
        for (key, object) in &truth.objects {
            if let Some(value) = (spec.of_object)(object) {
                wanted.entry(value).or_default().push(key.clone());
            }
        }
        let values = index.values();
        let same = values.iter().map(|value| &**value).eq(wanted.keys().map(String::as_str));
        ensure!(same, "index {} has {} values, not {}", spec.name, values.len(), wanted.len());
        for (value, keys) in &wanted {
            let has = index.keys(value);
            let (found, objects) = (has.len(), keys.len());
            ensure!(
                has == *keys,
                "index {} has other objects ({found}, not {objects}) under {value}",
                spec.name
            );
            let held = index.objects(value);
            ensure!(held.len() == objects, "index {} finds {} objects under {value}", spec.name, held.len());
        }
    }
    Ok(())
}

/// The lister, by namespace and by label.
fn check_namespaces<V: Content>(watched: &Watched<V>, truth: &Truth) -> Result {
    let mut namespaces = BTreeMap::<&str, (usize, usize)>::new();
    let selector = "app=app-1,tier!=tier-2".parse()?;
    for (key, object) in &truth.objects {
        let labels = &object["metadata"]["labels"];
        let counts = namespaces.entry(key.namespace()).or_default();
        counts.0 += 1;
        counts.1 += usize::from(labels["app"] == "app-1" && labels["tier"] != "tier-2");
    }
    let lister = watched.informer.lister();
    for (namespace, wanted) in namespaces {
        let lister = lister.namespace(namespace);
        let has = (lister.all().len(), lister.list(&selector).len());
        ensure!(
            has == wanted,
            "the lister finds {has:?} objects in {namespace} (all, selected), not {wanted:?}"
        );
    }
    Ok(())
}

/// What is cached is not newer than what the cache says it is at.
fn check_versions<V: Content>(watched: &Watched<V>, truth: &Truth) -> Result {
    let status = watched.informer.status();
    ensure!(status.stale == 0, "{} objects count as stale", status.stale);
    ensure!(status.objects >= truth.objects.len(), "the status counts {} objects", status.objects);
    for stats in &status.handlers {
        ensure!(stats.panics == 0, "a handler panicked");
    }
    if watched.scope.namespaces.is_empty() {
        let snapshot = watched.informer.snapshot();
        for object in snapshot.iter() {
            ensure!(object.version <= *snapshot.version(), "{object:?} is newer than its snapshot");
        }
    }
    Ok(())
}

struct Shown<'a>(&'a [String]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0[..self.0.len().min(DIFFERENCES_SHOWN)].join("; "))?;
        match self.0.len().saturating_sub(DIFFERENCES_SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_found_by_its_position() {
        let a = json!({"a": 1, "b": {"c": [1, {"d": "x"}], "e": null}});
        let mut position = String::new();
        assert!(same(&a, &a.clone(), &mut position));
        assert_eq!(position, "");
        let mut b = a.clone();
        b["b"]["c"][1]["d"] = "y".into();
        assert!(!same(&a, &b, &mut position));
        assert_eq!(position, "/b/c/1/d");
        let (mut b, mut position) = (a.clone(), String::new());
        b["b"].as_object_mut().unwrap().remove("e");
        assert!(!same(&a, &b, &mut position));
        assert_eq!(position, "/b/e");
    }

    #[test]
    fn missing_surplus_and_other_objects_are_differences() {
        let object = |name: &str, uid: &str, version: u64| Object {
            key: ObjectKey::new("ns", name),
            uid: Uid::new(uid),
            version: version.into(),
            value: Arc::new(()),
        };
        let has = [object("a", "1", 5), object("b", "2", 6), object("c", "3", 7)];
        let wanted: Identities = has
            .iter()
            .map(|object| (object.key.clone(), (object.uid.clone(), object.version.clone())))
            .collect();
        assert!(compare("x", &wanted, has.iter()).is_empty());
        for other in [object("b", "9", 6), object("b", "2", 5), object("z", "2", 6)] {
            let seen = compare("x", &wanted, [&has[0], &other, &has[2]].into_iter());
            assert!(!seen.is_empty());
        }
        assert_eq!(compare("x", &wanted, has[1..].iter()).len(), 1);
        assert_eq!(compare("x", &Identities::new(), has.iter()).len(), 3);
    }
}
