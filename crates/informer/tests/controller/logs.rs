//! What a controller says while it works, and what it must not say.

use informer::{Action, BoxError, TerminalError};
use tracing::Level;

use crate::log::Log;
use crate::support::*;

const CANARY: &str = "canary-sings-at-dawn";

#[tokio::test(start_paused = true)]
async fn each_failure_is_logged_with_controller_key_and_id_and_no_panic_is_quoted() {
    let log = Log::default();
    let _guard = log.capture(Level::TRACE);
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let controller = world.builder().build(move |key| {
        let before = own.note(&key);
        async move {
            match before {
                0 => panic!("{CANARY}"),
                1 => Err(BoxError::from("the disk is full")),
                2 => Err(TerminalError::new("the spec\nmakes no sense").into()),
                _ => Ok(Action::Done),
            }
        }
    });
    let running = world.run(controller.unwrap());
    world.deploy("web");
    pass(10.0).await;
    running.stop().await.1.unwrap();
    assert!(!log.text().contains(CANARY));
    let lines = [Level::WARN, Level::ERROR].map(|level| log.lines(level)).concat();
    let said = |id: u32, what: &str| {
        let span = format!("reconcile{{controller=\"test\" key=default/web reconcile_id={id}}}");
        assert!(
            lines.iter().any(|line| line.contains(&span) && line.contains(what)),
            "{id} {what}: {}",
            log.text()
        );
    };
    said(1, "reconcile panicked failures=1");
    said(2, "reconcile failed error=\"the disk is full\"");
    said(2, "failures=2");
    said(3, "the spec makes no sense: trying again cannot help");
}
