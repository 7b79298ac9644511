//! Metrics and health against the embedded API server.

mod controllers;
mod documents;
mod endpoint;
mod names;
mod rest;
mod series;
mod support;
mod values;
