//! The program of `docs/write-a-controller.md`; a test in `xtask/tests/tidy` sees to it that the page shows this code.

// The page shows these items as a library or a program would have them.
#![allow(unreachable_pub)]

mod beyond;
mod reconcile;
mod reflector;
mod resource;
mod test;
mod wiring;
