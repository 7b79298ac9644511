//! Events counted, combined and dropped: against a naive correlator, client-go's own cases, and series.

mod client_go;
mod model;
mod naive;
mod series;
mod support;
mod writes;
