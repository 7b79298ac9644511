//! A seeded simulation of the whole informer machine against a model server.
//!
//! Time, interleaving and faults come from the seed. The machine is the real one; the server, the network and the shell
//! are models. Named checkers judge each step, so a failing seed says what is wrong and repeats exactly:
//!
//! - `cargo test -p informer-sim` runs 1,000 seeds, `SIM_SEEDS=20000` more of them, `SIM_FROM=1000` others;
//! - `SIM_SEED=123 cargo test -p informer-sim one_seed -- --nocapture` tells the story of one;
//! - [`Mutant`]s are deliberate faults: they prove that each checker can fail.

mod chaos;
mod checkers;
mod connection;
mod dice;
mod driver;
pub mod election;
mod faults;
mod handler;
mod load;
mod model_server;
mod mutant;
mod plan;
mod run;
mod stream;
mod trace;
mod value;

pub use checkers::{Checker, Violation};
pub use load::Load;
pub use mutant::Mutant;
pub use run::{CONVERGENCE, Config, Outcome, run};
