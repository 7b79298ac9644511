//! The work queue against a naive one, client-go's own cases, and the rate limiters' figures.

mod client_go;
mod delays;
mod interleavings;
mod limiters;
mod model;
mod naive;
mod queue;
