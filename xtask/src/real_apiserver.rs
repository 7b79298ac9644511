//! `cargo xtask real-apiserver`: a real API server until it is told to stop.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::thread;

use clap::Args;
use informer_real_apiserver::{Binaries, Options, RealApiServer};

use crate::run::{POLL, Result, StopSignal};

/// Runs a real kube-apiserver with etcd on free loopback ports until Ctrl-C.
///
/// Builds both with Go at first use (about 9 minutes), into $INFORMER_CACHE_DIR, $XDG_CACHE_HOME/informer/bin
/// or ~/.cache/informer/bin. Prints the path of a kubeconfig to standard output when the server is ready;
/// everything else goes to standard error.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only build what is missing, start nothing.
    #[arg(long)]
    build_only: bool,

    /// Read from etcd each time (kube-apiserver --watch-cache=false).
    #[arg(long)]
    no_watch_cache: bool,

    /// Keep data, certificates and logs in this folder, and start from what is there.
    #[arg(long, value_name = "DIR")]
    keep_data: Option<PathBuf>,

    /// Print the kubeconfig itself instead of its path.
    #[arg(long)]
    print_kubeconfig: bool,

    /// Stop when standard input ends, too: for programs that start this one.
    #[arg(long)]
    until_stdin_closes: bool,

    /// More flags for kube-apiserver, after `--`.
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

pub(crate) fn run(arguments: Arguments) -> Result {
    build()?;
    if arguments.build_only {
        return Ok(());
    }
    let stop = StopSignal::register()?;
    if arguments.until_stdin_closes {
        stop_when_stdin_closes(&stop);
    }
    let options = Options {
        watch_cache: !arguments.no_watch_cache,
        extra_flags: arguments.flags,
        directory: arguments.keep_data,
        ..Options::default()
    };
    let mut server = RealApiServer::start(&options).map_err(|error| error.to_string())?;
    let kubeconfig = server.kubeconfig();
    if arguments.print_kubeconfig {
        print!("{}", fs::read_to_string(kubeconfig).map_err(|error| error.to_string())?);
    } else {
        println!("{}", kubeconfig.display());
    }
    eprintln!("{} is ready; Ctrl-C stops it", server.url());
    while !stop.is_raised() {
        server.check().map_err(|error| error.to_string())?;
        thread::sleep(POLL);
    }
    eprintln!("stopping");
    server.stop().map_err(|error| error.to_string())
}

/// Builds the servers unless they are in the cache, and says so.
pub(crate) fn build() -> Result<()> {
    Binaries::find_or_build(|line| eprintln!("{line}")).map(drop).map_err(|error| error.to_string())
}

fn stop_when_stdin_closes(stop: &StopSignal) {
    let stop = stop.clone();
    thread::spawn(move || {
        // What is written to it does not matter; an error ends it as well.
        let mut buffer = [0; 1024];
        let mut stdin = io::stdin().lock();
        loop {
            match stdin.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        stop.raise();
    });
}
