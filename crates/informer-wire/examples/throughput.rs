//! Prints what splitting, scanning and cutting cost per object, over generated Pods of about 9 KB.
//!
//! `cargo run --release -p informer-wire --example throughput`

use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use informer_wire::{GzipMembers, Limits, ListSplitter, ObjectMeta, WatchEvent, WatchFrames};

const PODS: usize = 2_000;
const CHUNK: usize = 64 << 10;
const ROUNDS: usize = 15;

fn main() {
    let pods: Vec<String> = (0..PODS).map(pod).collect();
    let mean = pods.iter().map(String::len).sum::<usize>() / PODS;
    println!("{PODS} pods of {mean} bytes; median of {ROUNDS} rounds");

    let list = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#,
        pods.join(",")
    );
    let watch: String =
        pods.iter().map(|pod| format!("{{\"type\":\"MODIFIED\",\"object\":{pod}}}\n")).collect();
    let chunks = |body: &[u8]| body.chunks(CHUNK).map(Bytes::copy_from_slice).collect::<Vec<_>>();
    let (list, watch) = (chunks(list.as_bytes()), chunks(watch.as_bytes()));

    measure("split a list", || split(&list));
    measure("frame a watch and find type and object", || frame(&watch));
    measure("scan metadata", || {
        pods.iter().map(|pod| ObjectMeta::scan(pod.as_bytes()).expect("a pod").name().len()).sum()
    });
    let mut scratch = Vec::new();
    measure("scan and cut managedFields into a scratch buffer", || {
        let mut left = 0;
        for pod in &pods {
            scratch.clear();
            let meta = ObjectMeta::scan(pod.as_bytes()).expect("a pod");
            meta.extend_without_managed_fields(&mut scratch);
            left += black_box(&scratch).len();
        }
        left
    });
    let events = gzipped_events(&pods);
    measure("gunzip, a member per object", || gunzip(&events));
}

fn measure(what: &str, mut run: impl FnMut() -> usize) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed().as_secs_f64() * 1e6 / PODS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{:8.2} us/object (best {:.2})  {what}", rounds[ROUNDS / 2], rounds[0]);
}

fn split(chunks: &[Bytes]) -> usize {
    let mut list = ListSplitter::new(Limits::default());
    let mut bytes = 0;
    for chunk in chunks {
        list.push(chunk.clone());
        while let Some(item) = list.next_item().expect("a list") {
            bytes += item.len();
        }
    }
    assert_eq!(list.finish().expect("a list").items, PODS as u64);
    bytes
}

fn frame(chunks: &[Bytes]) -> usize {
    let mut frames = WatchFrames::new(Limits::default());
    let mut bytes = 0;
    for chunk in chunks {
        frames.push(chunk.clone());
        while let Some(line) = frames.next_frame().expect("a watch") {
            bytes += WatchEvent::parse(&line).expect("an event").object.len();
        }
    }
    bytes
}

fn gzipped_events(pods: &[String]) -> Vec<Bytes> {
    let member = |pod: &String| {
        let mut member = GzEncoder::new(Vec::new(), Compression::new(4));
        member.write_all(pod.as_bytes()).expect("memory");
        Bytes::from(member.finish().expect("memory"))
    };
    pods.iter().map(member).collect()
}

fn gunzip(chunks: &[Bytes]) -> usize {
    let mut gzip = GzipMembers::new(Limits::default());
    let mut bytes = 0;
    for chunk in chunks {
        gzip.push(chunk.clone());
        while let Some(decoded) = gzip.next_chunk().expect("gzip") {
            bytes += decoded.len();
        }
    }
    bytes
}

/// A Pod as a server sends it: two fifths managedFields, then spec and status full of short strings.
fn pod(i: usize) -> String {
    let fields: Vec<String> = (0..48)
        .map(|f| {
            format!(
                r#""f:field{f}":{{".":{{}},"f:name":{{}},"f:value{i}":{{}},"k:{{\"type\":\"T{f}\"}}":{{}}}}"#
            )
        })
        .collect();
    let fields = fields.join(",");
    let env: Vec<String> = (0..36)
        .map(|e| {
            format!(r#"{{"name":"VAR_{e}","valueFrom":{{"configMapKeyRef":{{"name":"config-{e}","key":"key-{i}"}}}}}}"#)
        })
        .collect();
    let env = env.join(",");
    let conditions: Vec<String> = (0..8)
        .map(|c| {
            format!(
                r#"{{"type":"Condition{c}","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-29T15:12:16Z","observedGeneration":{c}}}"#
            )
        })
        .collect();
    let conditions = conditions.join(",");
    format!(
        r#"{{"metadata":{{"name":"web-{i}","generateName":"web-","namespace":"team-{}","uid":"ebbfc665-3393-49c4-93f5-{i:012}","resourceVersion":"{i}","creationTimestamp":"2026-11-29T15:12:16Z","labels":{{"app":"web","pod-template-hash":"5d9c7b8f6d","tier":"front"}},"annotations":{{"example.dev/checksum":"0f343b0931126a20f133d67c2b018a3b","example.dev/json":"{{\"a\":\"b\",\"c\":[1,2,3]}}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d9c7b8f6d","uid":"27a8cac4-2f87-4b2a-8da4-8a510cf0e1a5","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-29T15:12:16Z","fieldsType":"FieldsV1","fieldsV1":{{{fields}}}}}]}},"spec":{{"containers":[{{"name":"app","image":"registry.example/team/web:1.2.{i}","command":["/bin/sh","-c","exec \"$0\" \"$@\""],"env":[{env}],"resources":{{"limits":{{"cpu":"1","memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"data","mountPath":"/data"}},{{"name":"token","readOnly":true,"mountPath":"/var/run/secrets"}}],"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}}],"nodeName":"node-{}","restartPolicy":"Always"}},"status":{{"phase":"Running","conditions":[{conditions}],"podIP":"10.0.0.1","hostIP":"10.1.0.1"}}}}"#,
        i % 100,
        i % 300,
    )
}
