//! What the benchmark's programs share: the objects they serve, and how they talk with their driver.

mod collection;
mod lines;
mod part;
mod template;

pub use collection::{Collection, Kind};
pub use lines::{Lines, say};
pub use part::Part;
pub use template::Template;
