//! `informer watch --metrics-addr`, as a program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes, on any machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Killed at the end of the test, whatever it ends with.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn informer(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_informer"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn get(addr: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(addr).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a limit");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn a_port_in_use_ends_it_before_anything_else() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    // There is no such server: it is not even asked.
    let output = informer(&["watch", "pods", "--server", "http://127.0.0.1:1", "--metrics-addr", &address])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!("error: cannot serve metrics on \"{address}\": the port is in use\n")
    );
}

#[test]
fn metrics_and_readiness_are_served_while_it_watches() {
    let line = [
        "watch",
        "pods",
        "--embedded",
        "--objects",
        "7",
        "--rate",
        "0",
        "-v",
        "--metrics-addr",
        "127.0.0.1:0",
    ];
    let mut program = Program(informer(&line).spawn().unwrap());
    let stderr = BufReader::new(program.0.stderr.take().unwrap());
    let mut lines = stderr.lines().map_while(Result::ok);
    let told = lines.find_map(|line| Some(line.split_once("metrics on http://")?.1.to_owned()));
    let addr = told.expect("it says where").trim_end_matches("/metrics").parse().unwrap();
    let begun = Instant::now();
    while !get(addr, "/readyz").starts_with("HTTP/1.1 200 ") {
        assert!(begun.elapsed() < LIMIT, "{}", get(addr, "/readyz"));
    }
    let text = get(addr, "/metrics");
    let objects = "informer_objects{name=\"pods\",group=\"\",version=\"v1\",resource=\"pods\"} 7.0\n";
    assert!(text.contains(objects), "{text}");
    assert!(
        text.contains("rest_client_requests_total{code=\"200\",method=\"GET\",host=\"127.0.0.1:"),
        "{text}"
    );
}
