//! Durations as Go writes them: `10s`, `1m30s`, `1.5h`.

use std::time::Duration;

/// Parses a duration: numbers with units `ns us ms s m h`, one after the other; a bare number is seconds.
///
/// # Errors
/// A sentence for the user when it is none, is negative or is longer than a hundred years.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    // As kubectl reads --request-timeout: a bare whole number is seconds.
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().filter(|s| *s <= MAX_SECONDS).map(Duration::from_secs).ok_or_else(too_long);
    }
    let wrong = || "expected a duration such as 10s or 1m30s (units: ms, s, m, h)".to_owned();
    let mut rest = text;
    let mut total: f64 = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, after) = rest.split_at(digits);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        total += number.parse::<f64>().map_err(|_| wrong())? * seconds;
        rest = next;
    }
    if text.is_empty() {
        return Err(wrong());
    }
    if total > MAX_SECONDS as f64 {
        return Err(too_long());
    }
    Duration::try_from_secs_f64(total).map_err(|_| wrong())
}

/// A hundred years: more than anybody waits, and far from any overflow.
const MAX_SECONDS: u64 = 100 * 365 * 86_400;

fn too_long() -> String {
    "longer than a hundred years".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_understood() {
        for (text, millis) in [
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            ("250ms", 250),
            ("2h3m4s5ms", 7_384_005),
            ("0", 0),
            ("0s", 0),
            ("30", 30_000),
            (".5s", 500),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse_duration("1500us"), Ok(Duration::from_micros(1500)));
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "s", "-1s", "1d", "1s2", "ten", "1..2s", ".s", "9999999999h", "1e3s", " 1s"] {
            assert!(parse_duration(text).is_err(), "{text:?}");
        }
        assert!(parse_duration("99999999999999999999").is_err());
    }
}
