//! The defaults of built-in kinds that clients rely on; far from all that a real server fills in.

use serde_json::{Value, json};

use crate::registry::Resource;
use crate::write::{metadata_of, remove};

/// Fills in what is not there.
pub(crate) fn fill(resource: &Resource, object: &mut Value) {
    if !resource.builtin {
        return;
    }
    match resource.plural.as_str() {
        "namespaces" => {
            let name = object["metadata"]["name"].clone();
            let labels = &mut metadata_of(object).entry("labels").or_insert_with(|| json!({}))["kubernetes.io/metadata.name"];
            *labels = name;
            default(object, "spec", &json!({"finalizers": ["kubernetes"]}));
            default(object, "status", &json!({"phase": "Active"}));
        }
        "pods" => {
            pod_spec(&mut object["spec"]);
            default(object, "status", &json!({"phase": "Pending", "qosClass": "BestEffort"}));
        }
        "deployments" | "statefulsets" | "replicasets" | "replicationcontrollers" => {
            default(&mut object["spec"], "replicas", &json!(1));
            pod_spec(&mut object["spec"]["template"]["spec"]);
            default(object, "status", &json!({}));
            if resource.plural == "deployments" {
                let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}});
                default(&mut object["spec"], "strategy", &strategy);
                default(&mut object["spec"], "revisionHistoryLimit", &json!(10));
                default(&mut object["spec"], "progressDeadlineSeconds", &json!(600));
            } else if resource.plural != "statefulsets" {
                default(&mut object["status"], "replicas", &json!(0));
            }
        }
        "daemonsets" | "jobs" => {
            pod_spec(&mut object["spec"]["template"]["spec"]);
            default(object, "status", &json!({}));
        }
        "services" => {
            let spec = &mut object["spec"];
            default(spec, "type", &json!("ClusterIP"));
            default(spec, "sessionAffinity", &json!("None"));
            default(object, "status", &json!({"loadBalancer": {}}));
        }
        "secrets" => {
            default(object, "type", &json!("Opaque"));
            take_string_data(object);
        }
        _ => {}
    }
}

fn default(object: &mut Value, field: &str, value: &Value) {
    if object.is_null() {
        *object = json!({});
    }
    if let Some(fields) = object.as_object_mut() {
        fields.entry(field).or_insert_with(|| value.clone());
    }
}

fn pod_spec(spec: &mut Value) {
    for (field, value) in [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("securityContext", json!({})),
        ("schedulerName", json!("default-scheduler")),
    ] {
        default(spec, field, &value);
    }
    for container in spec.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten() {
        let always = container["image"]
            .as_str()
            .is_none_or(|image| image.ends_with(":latest") || !image.contains(':'));
        default(container, "imagePullPolicy", &json!(if always { "Always" } else { "IfNotPresent" }));
        default(container, "resources", &json!({}));
        default(container, "terminationMessagePath", &json!("/dev/termination-log"));
        default(container, "terminationMessagePolicy", &json!("File"));
    }
}

/// `stringData` is only ever written: it goes into `data`, encoded.
fn take_string_data(object: &mut Value) {
    let Some(Value::Object(plain)) = object.get("stringData").cloned() else { return };
    for (key, value) in plain {
        let encoded = base64_padded(value.as_str().unwrap_or("").as_bytes());
        default(object, "data", &json!({}));
        object["data"][key] = encoded.into();
    }
    remove(object, "stringData");
}

/// Standard base64, as the values of secrets have it.
fn base64_padded(bytes: &[u8]) -> String {
    let mut text = crate::names::base64_encode(bytes).replace('-', "+").replace('_', "/");
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}
