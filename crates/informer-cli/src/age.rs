//! Durations as kubectl prints them: `45s`, `3m12s`, `5d3h`.

use jiff::Timestamp;

/// How long ago `then` was, or `<unknown>` when there is no such time.
pub(crate) fn since(then: Option<Timestamp>, now: Timestamp) -> String {
    match then {
        None => "<unknown>".to_owned(),
        Some(then) => between(then, now),
    }
}

/// The time from `from` to `to` in two or three significant figures.
///
/// A little in the future (clocks differ) is `0s`, more than a second is `<invalid>`.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> String {
    human(to.duration_since(from).as_secs())
}

fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let (minutes, hours, days, years) = (seconds / MINUTE, seconds / HOUR, seconds / DAY, seconds / YEAR);
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, 'm', seconds % MINUTE, 's'),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, 'd', hours % 24, 'h'),
        _ if days < 2 * 365 => format!("{days}d"),
        _ if years < 8 => two(years, 'y', days % 365, 'd'),
        _ => format!("{years}y"),
    }
}

fn two(big: i64, big_unit: char, small: i64, small_unit: char) -> String {
    if small == 0 { format!("{big}{big_unit}") } else { format!("{big}{big_unit}{small}{small_unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_kubectl_prints_them() {
        const DAY: i64 = 86_400;
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (192, "3m12s"),
            (599, "9m59s"),
            (600, "10m"),
            (179 * 60 + 59, "179m"),
            (180 * 60, "3h"),
            (3 * 3600 + 300, "3h5m"),
            (8 * 3600 - 1, "7h59m"),
            (8 * 3600, "8h"),
            (47 * 3600 + 3599, "47h"),
            (48 * 3600, "2d"),
            (5 * DAY + 3 * 3600, "5d3h"),
            (8 * DAY, "8d"),
            (729 * DAY, "729d"),
            (730 * DAY, "2y"),
            (731 * DAY, "2y1d"),
            (8 * 365 * DAY - 1, "7y364d"),
            (8 * 365 * DAY, "8y"),
        ] {
            assert_eq!(human(seconds), text, "{seconds} s");
        }
    }

    #[test]
    fn a_missing_time_is_unknown() {
        assert_eq!(since(None, Timestamp::UNIX_EPOCH), "<unknown>");
        let start = Timestamp::from_second(100).unwrap();
        assert_eq!(since(Some(start), Timestamp::from_second(105).unwrap()), "5s");
    }
}
