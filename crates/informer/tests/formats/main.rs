//! All storage formats hold the same objects, and answer alike.

mod agree;
mod hostile;
mod same_value;
mod support;
