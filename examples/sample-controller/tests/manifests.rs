//! The manifests say what the program means.

#[path = "../src/foo.rs"]
mod foo;

use kube::CustomResourceExt;
use serde_json::Value;

fn manifest(name: &str) -> Value {
    let path = format!("{}/manifests/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_definition_is_that_of_the_type() {
    let expected = serde_json::to_value(foo::Foo::crd()).unwrap();
    assert_eq!(manifest("crd.yaml"), expected, "\n{expected:#}");
}
