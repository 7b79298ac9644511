//! A seeded simulation of leader election: electors with clocks of their own against a model of one Lease.
//!
//! Every elector has its own clock rate and offset and a wall clock that says anything; it is paused, cut off, killed,
//! stopped; its requests and answers are lost, late or refused, and late writes still arrive. What it *believes* is judged
//! at every instant on its own clock, also while it is told nothing.
//!
//! - `cargo test -p informer-sim --test election` runs 1,000 seeds, `SIM_SEEDS=20000` more, `SIM_FROM=1000` others;
//! - `SIM_SEED=123 cargo test -p informer-sim --test election one_seed -- --nocapture` tells the story of one.

mod chaos;
mod checkers;
mod clock;
mod elector;
mod load;
mod plan;
mod run;
mod server;
mod world;

pub use checkers::{Checker, Violation};
pub use load::shortfalls;
pub use plan::Skew;
pub use run::{Config, Outcome, run};
pub use world::Mutant;
