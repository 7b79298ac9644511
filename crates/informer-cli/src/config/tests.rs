//! Tests of `config`.

use super::*;
use crate::args::Cli;
use clap::Parser;

const A: &str = "
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: 'https://one:6443', insecure-skip-tls-verify: true}}
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: team-a}}
- {name: lost, context: {cluster: nowhere, user: u1}}
users:
- {name: u1, user: {token: hunter2}}
";

const B: &str = "
apiVersion: v1
kind: Config
current-context: two
clusters:
- {name: c1, cluster: {server: 'https://other:6443'}}
- {name: c2, cluster: {server: 'https://two:6443/prefix'}}
contexts:
- {name: two, context: {cluster: c2, user: u2}}
users:
- {name: u2, user: {}}
";

/// A directory of its own for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("informer-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn list(&self, paths: &[&Path]) -> Surroundings {
        Surroundings { kubeconfig: Some(std::env::join_paths(paths).unwrap()), ..Surroundings::default() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn global(flags: &[&str]) -> Global {
    Cli::try_parse_from(["informer", "get", "pods"].iter().chain(flags)).unwrap().global
}

async fn found(flags: &[&str], around: &Surroundings) -> Result<Config, String> {
    resolve(&global(flags), around).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn files_of_the_list_are_merged_and_missing_ones_passed_over() {
    let folder = Folder::new("merge");
    let (a, b) = (folder.file("a", A), folder.file("b", B));
    let around = folder.list(&[Path::new("/nonexistent/x"), &a, &b]);
    let config = found(&[], &around).await.unwrap();
    assert_eq!(config.cluster_url, "https://one:6443/");
    assert_eq!(config.default_namespace, "team-a");
    assert!(config.accept_invalid_certs);
    assert!(!config.default_retry);
    assert_eq!(config.read_timeout, None);
    let config = found(&["--context", "two"], &around).await.unwrap();
    assert_eq!(config.cluster_url, "https://two:6443/prefix");
    assert_eq!(config.default_namespace, "default");
}

#[tokio::test]
async fn the_flag_is_the_only_file_and_must_exist() {
    let folder = Folder::new("flag");
    let (a, b) = (folder.file("a", A), folder.file("b", B));
    let around = folder.list(&[&a]);
    let config = found(&["--kubeconfig", b.to_str().unwrap()], &around).await.unwrap();
    assert_eq!(config.cluster_url, "https://two:6443/prefix");
    let error = found(&["--kubeconfig", "/nonexistent/k"], &around).await.unwrap_err();
    assert!(error.starts_with("cannot read the kubeconfig /nonexistent/k: "), "{error}");
}

#[tokio::test]
async fn the_home_directory_is_looked_at_last() {
    let folder = Folder::new("home");
    folder.file(".kube/config", A);
    let around = Surroundings { home: Some(folder.0.clone()), ..Surroundings::default() };
    assert_eq!(found(&[], &around).await.unwrap().cluster_url, "https://one:6443/");
    let nowhere = Surroundings { home: Some("/nonexistent".into()), ..Surroundings::default() };
    let error = found(&[], &nowhere).await.unwrap_err();
    assert!(error.contains("/nonexistent/.kube/config does not exist"), "{error}");
    assert!(error.contains("--server URL"), "{error}");
}

#[tokio::test]
async fn a_server_alone_needs_no_kubeconfig() {
    let nothing = Surroundings::default();
    let config = found(&["--server", "http://127.0.0.1:8001"], &nothing).await.unwrap();
    assert_eq!(config.cluster_url, "http://127.0.0.1:8001/");
    assert_eq!(
        found(&["--server", "localhost:8001"], &nothing).await.unwrap().cluster_url,
        "http://localhost:8001/"
    );
    for bad in ["ftp://x", "http://", "http:// x", "", "http://x?y=1"] {
        let error = found(&["--server", bad], &nothing).await.unwrap_err();
        assert!(error.contains("is not the address of a server"), "{bad}: {error}");
    }
}

#[tokio::test]
async fn credentials_stay_with_an_https_server_and_never_travel_in_the_clear() {
    let folder = Folder::new("clear");
    let around = folder.list(&[&folder.file("a", A)]);
    let config = found(&["--server", "https://elsewhere:1"], &around).await.unwrap();
    assert_eq!(config.cluster_url, "https://elsewhere:1/");
    assert!(config.auth_info.token.is_some());
    assert_eq!(config.default_namespace, "team-a");
    let config = found(&["--server", "http://elsewhere:1"], &around).await.unwrap();
    assert!(config.auth_info.token.is_none());
    // Without a scheme the kubeconfig's TLS settings decide.
    assert_eq!(
        found(&["--server", "elsewhere:1"], &around).await.unwrap().cluster_url,
        "https://elsewhere:1/"
    );
}

#[tokio::test]
async fn faults_are_named_without_any_secret() {
    let folder = Folder::new("faults");
    let around = folder.list(&[&folder.file("a", A)]);
    let error = found(&["--context", "tow"], &around).await.unwrap_err();
    assert_eq!(error, "there is no context \"tow\" in the kubeconfig (it has one, lost)");
    let error = found(&["--context", "lost"], &around).await.unwrap_err();
    assert_eq!(error, "the context's cluster \"nowhere\" is not in the kubeconfig");
    let broken = folder.file("broken", "users:\n- name: u\n  user: {token: hunter2\nclusters: [}");
    let error = found(&[], &folder.list(&[&broken])).await.unwrap_err();
    assert!(error.contains("is not a kubeconfig: bad YAML at line "), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    let bare = folder.file("bare", &A.replace("current-context: one", ""));
    let error = found(&[], &folder.list(&[&bare])).await.unwrap_err();
    assert!(error.starts_with("the kubeconfig names no current context"), "{error}");
}

#[tokio::test]
async fn a_proxy_of_the_environment_spares_this_machine() {
    let mut around = Surroundings::default();
    around.proxy.http = Some("http://proxy:3128".to_owned());
    assert!(found(&["--server", "http://127.0.0.1:1"], &around).await.unwrap().proxy_url.is_none());
    let far = found(&["--server", "http://far:1"], &around).await.unwrap();
    assert_eq!(far.proxy_url.unwrap(), "http://proxy:3128/");
}

#[test]
fn timeouts_have_a_default_and_zero_means_none() {
    assert_eq!(request_timeout(&global(&[])), Some(REQUEST_TIMEOUT));
    assert_eq!(request_timeout(&global(&["--request-timeout", "0"])), None);
    assert_eq!(request_timeout(&global(&["--request-timeout", "5s"])), Some(Duration::from_secs(5)));
}
