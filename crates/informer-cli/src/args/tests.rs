//! Tests of `args`.

use super::*;
use clap::CommandFactory;
use std::path::Path;

fn parse(line: &str) -> Cli {
    Cli::try_parse_from(line.split_whitespace()).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn query(line: &str) -> (Query, Global) {
    let cli = parse(line);
    match cli.command {
        Command::Get(query) | Command::Watch(Watch { query, .. }) => (query, cli.global),
        other => panic!("{other:?}"),
    }
}

fn resources(line: &str) -> Result<Vec<(String, Vec<String>)>, UsageError> {
    let (query, global) = query(line);
    Ok(query.check(&global)?.into_iter().map(|r| (r.resource, r.names)).collect())
}

fn pairs(expected: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    expected.iter().map(|(r, n)| ((*r).to_owned(), n.iter().map(|n| (*n).to_owned()).collect())).collect()
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn flags_work_before_and_after_the_command() {
    for line in [
        "informer --kubeconfig /k --context c --request-timeout 1m30s -vv get pods -n x -o wide",
        "informer get pods -o wide -n x -vv --request-timeout=1m30s --context=c --kubeconfig=/k",
        "informer get -v -n x --kubeconfig /k pods -v -owide --context c --request-timeout 90",
    ] {
        let (query, global) = query(line);
        assert_eq!(global.kubeconfig.as_deref(), Some(Path::new("/k")), "{line}");
        assert_eq!(global.context.as_deref(), Some("c"), "{line}");
        assert_eq!(global.request_timeout, Some(Duration::from_secs(90)), "{line}");
        assert_eq!(global.verbose, 2, "{line}");
        assert_eq!(query.output, Some(Format::Wide), "{line}");
        assert_eq!(query.scope(), Scope::One(Some("x".to_owned())), "{line}");
    }
}

#[test]
fn resources_are_read_as_kubectl_reads_them() {
    assert_eq!(resources("informer get pods"), Ok(pairs(&[("pods", &[])])));
    assert_eq!(resources("informer get pods,svc"), Ok(pairs(&[("pods", &[]), ("svc", &[])])));
    assert_eq!(resources("informer get pods a b a"), Ok(pairs(&[("pods", &["a", "b"])])));
    assert_eq!(resources("informer get pods,svc a"), Ok(pairs(&[("pods", &["a"]), ("svc", &["a"])])));
    assert_eq!(resources("informer get pods/a"), Ok(pairs(&[("pods", &["a"])])));
    assert_eq!(
        resources("informer get pods/a svc/b pods/c"),
        Ok(pairs(&[("pods", &["a", "c"]), ("svc", &["b"])]))
    );
    assert_eq!(resources("informer get pods/a,svc"), Ok(pairs(&[("pods", &["a"]), ("svc", &[])])));
    assert_eq!(
        resources("informer get widgets.demo.example.dev"),
        Ok(pairs(&[("widgets.demo.example.dev", &[])]))
    );
}

#[test]
fn senseless_words_are_refused_with_a_reason() {
    let resource = |line| match resources(line) {
        Err(UsageError::Resource(error)) => error,
        other => panic!("{line}: {other:?}"),
    };
    assert!(matches!(resource("informer get pods,"), ResourceArgError::Empty(_)));
    assert!(matches!(resource("informer get pods/"), ResourceArgError::Empty(_)));
    assert!(matches!(resource("informer get /a"), ResourceArgError::Empty(_)));
    assert!(matches!(resource("informer get pods/a/b"), ResourceArgError::TwoSlashes(_)));
    assert!(matches!(resource("informer get pods/a b"), ResourceArgError::Mixed(_)));
    assert!(matches!(resource("informer get pods,pods/a"), ResourceArgError::WholeAndNamed(_)));
    let message = ResourceArgError::Empty("\x1b[2J,".to_owned()).to_string();
    assert_eq!(message, "\"^[[2J,\" is empty or has an empty part");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    assert_eq!(resources("informer get pods --objects 5"), Err(UsageError::WorkloadWithoutEmbedded));
    assert_eq!(
        resources("informer watch pods --embedded --server http://localhost:1"),
        Err(UsageError::EmbeddedWith("--server"))
    );
    assert_eq!(resources("informer get pods/a -l x=y"), Err(UsageError::NameWith("-l")));
    assert_eq!(resources("informer get pods a -A"), Err(UsageError::NameWith("-A")));
    assert_eq!(resources("informer get pods --namespace="), Err(UsageError::EmptyNamespace));
}

#[test]
fn all_namespaces_win_and_are_the_default_of_the_embedded_server() {
    assert_eq!(query("informer get pods -n x -A").0.scope(), Scope::All);
    assert_eq!(query("informer get pods").0.scope(), Scope::One(None));
    assert_eq!(query("informer watch pods --embedded").0.scope(), Scope::All);
    assert_eq!(query("informer watch pods --embedded -n x").0.scope(), Scope::One(Some("x".to_owned())));
}

#[test]
fn bad_values_are_refused_by_the_parser() {
    for line in [
        "informer get",
        "informer get pods -o table",
        "informer get pods --request-timeout soon",
        "informer watch pods --embedded --rate -1",
        "informer watch pods --embedded --rate NaN",
        "informer watch pods --embedded --objects -3",
        "informer serve --port 70000",
        "informer completions tcsh",
        "informer top pods",
    ] {
        assert!(Cli::try_parse_from(line.split_whitespace()).is_err(), "{line}");
    }
}

#[test]
fn every_example_in_the_help_parses() {
    let mut tried = 0;
    for text in [EXAMPLES, GET_EXAMPLES, WATCH_EXAMPLES, SERVE_EXAMPLES, COMPLETIONS_EXAMPLES] {
        for line in text.lines().filter(|line| line.contains("informer ") && !line.contains('#')) {
            let from = line.find("informer ").unwrap_or_default();
            let command = line[from..].split(['>', ')']).next().unwrap_or_default().replace('\'', "");
            let cli = parse(&command);
            if let Command::Get(query) | Command::Watch(Watch { query, .. }) = &cli.command {
                assert!(query.check(&cli.global).is_ok(), "{command}");
            }
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}
