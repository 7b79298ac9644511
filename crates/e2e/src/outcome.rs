//! What a step of the suite answers: nothing, or one text that says what is wrong.

/// What is wrong, for people: keys, versions and positions, never values.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a step answers.
pub(crate) type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Fails with a formatted text unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err($crate::outcome::Error::from(format!($($text)+)));
        }
    };
}

pub(crate) use ensure;
