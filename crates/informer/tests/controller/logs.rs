//! What a controller says while it works, and what it must not say.

use std::io;
use std::sync::{Arc, Mutex};

use informer::{Action, BoxError, TerminalError};
use tracing_subscriber::fmt::MakeWriter;

use crate::support::*;

const CANARY: &str = "canary-sings-at-dawn";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn each_failure_is_logged_with_controller_key_and_id_and_no_panic_is_quoted() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    // While there is one subscriber alone, `tracing` asks the thread that comes first to a place in the code whether it is of
    // interest to anybody, and other tests' threads have none. A second one makes it ask all.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);
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
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(!log.contains(CANARY));
    let lines: Vec<_> = log.lines().filter(|line| line.contains("reconcile_id=")).collect();
    let said = |id: u32, what: &str| {
        let span = format!("reconcile{{controller=\"test\" key=default/web reconcile_id={id}}}");
        assert!(lines.iter().any(|line| line.contains(&span) && line.contains(what)), "{id} {what}: {log}");
    };
    said(1, "reconcile panicked failures=1");
    said(2, "reconcile failed error=\"the disk is full\"");
    said(2, "failures=2");
    said(3, "the spec makes no sense: trying again cannot help");
}
