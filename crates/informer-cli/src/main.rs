//! `informer`: get and watch objects of any cluster from a live, indexed copy.

use args::{Cli, Command, Shell, Watch};
use clap::{CommandFactory, Parser};
use exposed::Exposed;
use failure::Failure;
use screen::Screen;
use std::{io, process::ExitCode};

mod age;
mod args;
mod columns;
mod config;
mod diff;
mod discovery;
mod errors;
mod exposed;
mod failure;
mod fields;
mod get;
mod output;
mod palette;
mod progress;
mod request;
mod screen;
mod serve;
mod session;
mod table;
mod table_source;
mod text;
mod view;
mod watch;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr(cli.global.verbose);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(run(cli));
    // Whatever still runs (an embedded server, a watch) has nobody to run for any more.
    runtime.shutdown_background();
    match result {
        Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { command, global } = cli;
    let screen = Screen::of_stdout();
    match command {
        Command::Get(query) => get::get(&global, &query, &mut io::stdout(), screen).await,
        Command::Watch(Watch { query, metrics_addr }) => {
            // Before anything else: who wants metrics and gets none should know at once.
            let exposed = Exposed::bind(metrics_addr.as_deref()).await?;
            watch::watch(&global, &query, &exposed, &mut io::stdout(), screen, interrupted()).await
        }
        Command::Serve(args) => Ok(serve::serve(&args, interrupted()).await?),
        Command::Completions { shell } => completions(shell),
    }
}

/// Completes at Ctrl-C or SIGTERM. A second one ends the process on the spot.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated => {}
    }
    tokio::spawn(async {
        let _ = tokio::signal::ctrl_c().await;
        // 128 + SIGINT, as shells report it.
        std::process::exit(130);
    });
}

fn completions(shell: Shell) -> Result<(), Failure> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "informer", &mut script);
    Ok(output::write_text(&mut io::stdout(), &String::from_utf8_lossy(&script))?)
}

/// Logs of our own crates only: others may log whole bodies.
fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = ["informer", "informer_core", "informer_wire", "informer_testserver"]
        .map(|name| format!("{name}={level}"))
        .join(",");
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(io::stderr)
        .with_target(false)
        .init();
}
