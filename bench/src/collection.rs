//! A collection of generated objects: any number of them, the same in every run, made when they are asked for.

use std::io::Write as _;

use crate::Template;

/// What the objects are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Kind {
    /// Pods of about 5.5 KB: one container.
    #[value(name = "pod-5k")]
    Pod5k,
    /// Pods of about 9 KB: two containers.
    #[value(name = "pod-9k")]
    Pod9k,
    /// A custom resource of about 2.9 KB.
    Widget,
    /// Pods of 1.5 MB, which is as much as etcd takes: an annotation that somebody has put a file into.
    PodLarge,
    /// Pods of 5.5 KB whose names have all of the 253 characters that are allowed, each with an application of its own.
    PodOdd,
}

/// Objects by number, in the order of their keys.
#[derive(Debug)]
pub struct Collection {
    kind: Kind,
    len: usize,
    namespace_len: usize,
    whole: Template,
    metadata: Template,
}

/// Every ReplicaSet seems to have that many Pods.
const REPLICAS: usize = 10;
const NODES: usize = 300;

/// The longest name that Kubernetes allows.
const NAME_BYTES: usize = 253;
/// What makes a Pod of 5.5 KB one of 1.5 MB.
const FILE_BYTES: usize = 1_494_000;

impl Collection {
    /// `len` objects, `namespace_len` to a namespace.
    ///
    /// # Panics
    /// If `namespace_len` is 0.
    #[must_use]
    pub fn new(kind: Kind, len: usize, namespace_len: usize) -> Self {
        assert!(namespace_len > 0, "a namespace has objects");
        let mut text = match kind {
            Kind::Pod5k | Kind::PodLarge | Kind::PodOdd => include_str!("../templates/pod-5k.json"),
            Kind::Pod9k => include_str!("../templates/pod-9k.json"),
            Kind::Widget => include_str!("../templates/widget.json"),
        }
        .to_owned();
        if kind == Kind::PodLarge {
            let annotations = r#""annotations": {"#;
            text =
                text.replacen(annotations, &format!(r#"{annotations}"example.dev/file": "@{{file}}", "#), 1);
        }
        let whole = Template::parse(&text);
        let metadata = whole.field("metadata");
        Self { kind, len, namespace_len, whole, metadata }
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The path of the resource in all namespaces is this, then [`plural`](Self::plural).
    #[must_use]
    pub fn group_path(&self) -> &'static str {
        match self.kind {
            Kind::Pod5k | Kind::Pod9k | Kind::PodLarge | Kind::PodOdd => "/api/v1",
            Kind::Widget => "/apis/bench.example.dev/v1",
        }
    }

    /// The last word of the resource's path.
    #[must_use]
    pub fn plural(&self) -> &'static str {
        match self.kind {
            Kind::Pod5k | Kind::Pod9k | Kind::PodLarge | Kind::PodOdd => "pods",
            Kind::Widget => "widgets",
        }
    }

    /// Group, version and kind as the fields that begin an object. Items of a built-in resource's list lack them.
    #[must_use]
    pub fn types(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Pod5k | Kind::Pod9k | Kind::PodLarge | Kind::PodOdd => ("v1", "Pod"),
            Kind::Widget => ("bench.example.dev/v1", "Widget"),
        }
    }

    /// The namespace of an object.
    #[must_use]
    pub fn namespace(&self, number: usize) -> String {
        format!("team-{:04}", number / self.namespace_len)
    }

    /// The numbers of a namespace's objects: empty for one that does not exist.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> std::ops::Range<usize> {
        let number = namespace.strip_prefix("team-").and_then(|number| number.parse::<usize>().ok());
        let Some(number) = number else { return 0..0 };
        let start = (number * self.namespace_len).min(self.len);
        start..(start + self.namespace_len).min(self.len)
    }

    /// The name of an object, in the order of the numbers within a namespace.
    #[must_use]
    pub fn name(&self, number: usize) -> String {
        // Four letters of noise at the end, as generated names have.
        let noise = mixed(number as u64);
        let mut name = format!("{}-{:07}-{:04x}", app_prefix(), number, noise & 0xffff);
        if self.kind == Kind::PodOdd {
            let missing = NAME_BYTES - name.len();
            name.extend(std::iter::repeat_n('x', missing));
        }
        name
    }

    /// Appends an object at a version. A list's item has no types unless it is a custom resource.
    pub fn write(&self, number: usize, version: u64, is_item: bool, out: &mut Vec<u8>) {
        let has_types = self.kind == Kind::Widget;
        if !is_item && !has_types {
            let (api_version, kind) = self.types();
            let _ = write!(out, r#"{{"kind":"{kind}","apiVersion":"{api_version}","#);
            let from = out.len();
            self.fill(&self.whole, number, version, out);
            // The object's own opening brace.
            out.remove(from);
        } else {
            self.fill(&self.whole, number, version, out);
        }
    }

    /// Appends an object as a `PartialObjectMetadata`.
    pub fn write_metadata(&self, number: usize, version: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(
            br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#,
        );
        self.fill(&self.metadata, number, version, out);
        out.push(b'}');
    }

    fn fill(&self, template: &Template, number: usize, version: u64, out: &mut Vec<u8>) {
        let owner = number / REPLICAS;
        let noise = |salt: u64| mixed(number as u64 ^ (salt << 40));
        // Seconds since some moment, so that times differ as they do in a cluster.
        let time = |seconds: u64, out: &mut Vec<u8>| {
            let (hours, minutes, seconds) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
            let _ = write!(out, "2026-11-{:02}T{hours:02}:{minutes:02}:{seconds:02}Z", 1 + number % 28);
        };
        template.fill(out, |hole, out| {
            // Writing to memory does not fail.
            let _ = match hole {
                "name" => write!(out, "{}", self.name(number)),
                "namespace" => write!(out, "{}", self.namespace(number)),
                "version" => write!(out, "{version}"),
                "uid" => write_uid(noise(1), noise(2), out),
                "owneruid" => write_uid(mixed(owner as u64 ^ (3 << 40)), mixed(owner as u64), out),
                "app" if self.kind == Kind::PodOdd => write!(out, "service-{number:07}"),
                "app" => write!(out, "{}", app(owner)),
                "file" => {
                    write_file(noise(8), out);
                    Ok(())
                }
                "hash" => write!(out, "{:09x}", mixed(owner as u64) & 0xf_ffff_ffff),
                "node" => write!(out, "node-{:03}.example.dev", noise(4) % NODES as u64),
                "ip" => {
                    write!(out, "10.{}.{}.{}", 64 + number / 65_536 % 64, number / 256 % 256, number % 256)
                }
                "hostip" => write!(out, "10.0.{}.{}", noise(4) % NODES as u64 / 200, noise(4) % 200),
                "created" => {
                    time(noise(5) % 86_400, out);
                    Ok(())
                }
                "changed" => {
                    time((noise(5) + version) % 86_400, out);
                    Ok(())
                }
                "hex0" => write_hex(noise(6), out),
                "hex1" => write_hex(noise(7), out),
                other => panic!("nothing is known of the hole {other}"),
            };
        });
    }
}

/// Some hundred applications of different sizes.
fn app(owner: usize) -> String {
    format!("service-{:03}", mixed(owner as u64) % 400)
}

/// Names begin alike, so that their order is that of the numbers.
fn app_prefix() -> &'static str {
    "workload"
}

fn write_uid(high: u64, low: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let [a, b, c] = [high >> 32, high >> 16 & 0xffff, high & 0xfff];
    write!(out, "{a:08x}-{b:04x}-4{c:03x}-{:04x}-{:012x}", 0x8000 | low >> 50, low & 0xffff_ffff_ffff)
}

/// Digits that are another's of each object, and look like a file's that was encoded.
fn write_file(state: u64, out: &mut Vec<u8>) {
    let end = out.len() + FILE_BYTES;
    let _ = write_hex(state, out);
    let from = out.len() - 64;
    while out.len() < end {
        out.extend_from_within(from..out.len().min(from + end - out.len()));
    }
}

/// 64 digits, as of a SHA-256.
fn write_hex(mut state: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    for _ in 0..4 {
        state = mixed(state);
        write!(out, "{state:016x}")?;
    }
    Ok(())
}

/// The mixing step of SplitMix64: the same noise in every run.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
