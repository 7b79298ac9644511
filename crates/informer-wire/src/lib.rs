//! informer-wire
