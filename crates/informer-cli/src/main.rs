//! crates/informer-cli
fn main() {}
