//! A server or client that is talked to in lines, each answer with a deadline.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{POLL, Result, StopSignal, text};

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<String>,
    stop: StopSignal,
}

impl Program {
    /// Starts it and waits for its first answer.
    pub(crate) fn start(command: &mut Command, limit: Duration, stop: &StopSignal) -> Result<(Self, Value)> {
        let name = text(command);
        let failed = |error| format!("{name}: {error}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = child.stdout.take().expect("it is piped");
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut program = Self { name, child, stdin, answers, stop: stop.clone() };
        let first = program.answer(limit)?;
        Ok((program, first))
    }

    /// Says a line and waits for the answer.
    pub(crate) fn ask(&mut self, line: &str, limit: Duration) -> Result<Value> {
        self.say(line)?;
        self.answer(limit)
    }

    /// Says a line; [`answer`](Self::answer) waits for what it says to it.
    pub(crate) fn say(&mut self, line: &str) -> Result {
        writeln!(self.stdin, "{line}").map_err(|error| format!("{}: {error}", self.name))
    }

    /// Waits for the next answer.
    pub(crate) fn answer(&mut self, limit: Duration) -> Result<Value> {
        let deadline = Instant::now() + limit;
        loop {
            match self.answers.recv_timeout(POLL) {
                Ok(line) => {
                    let value: Value = serde_json::from_str(&line)
                        .map_err(|error| format!("{}: {line}: {error}", self.name))?;
                    return match value["error"].as_str() {
                        Some(error) => Err(format!("{}: {error}", self.name)),
                        None => Ok(value),
                    };
                }
                Err(RecvTimeoutError::Disconnected) => return Err(format!("{}: it has ended", self.name)),
                Err(RecvTimeoutError::Timeout) if self.stop.is_raised() => {
                    return Err("stopped by a signal".to_owned());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                    return Err(format!("{}: no answer within {limit:?}", self.name));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
