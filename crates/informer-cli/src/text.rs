//! Text from the cluster made safe and short enough for a terminal.

use std::borrow::Cow;

/// Makes `text` harmless on a terminal: control characters, bidirectional overrides and invisible characters
/// become visible escapes, so that a name or label can neither move the cursor nor hide a part of itself.
///
/// Newlines become `\n`: the result is always one line. Costs nothing when there is nothing to escape.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Caret notation, as `cat -v` prints it: ESC is ^[, NUL is ^@, DEL is ^?.
            '\0'..='\x1f' | '\x7f' => {
                out.push('^');
                out.push(char::from((c as u8) ^ 0x40));
            }
            c if is_unsafe(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// At most `max` characters of `text`, the last one an ellipsis when something was cut.
pub(crate) fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let cut = text.char_indices().nth(max.saturating_sub(1)).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", &text[..cut]))
        }
    }
}

/// `escape` of at most `max` characters.
pub(crate) fn excerpt(text: &str, max: usize) -> String {
    escape(&shorten(text, max)).into_owned()
}

/// As many of the parts as fit into `room` characters, with a count of the others and of `unnamed` more that have no
/// part: `a, b +3 more`. The first part is always there, cut if need be.
pub(crate) fn fit(parts: &[String], unnamed: usize, room: usize) -> String {
    let count = |hidden: usize| if hidden == 0 { String::new() } else { format!(" +{hidden} more") };
    let Some(first) = parts.first() else {
        return String::new();
    };
    for shown in (1..=parts.len()).rev() {
        let text = parts[..shown].join(", ") + &count(parts.len() - shown + unnamed);
        if text.chars().count() <= room {
            return text;
        }
    }
    let others = count(parts.len() - 1 + unnamed);
    format!("{}{others}", shorten(first, room.saturating_sub(others.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_and_invisible_characters_become_visible() {
        assert_eq!(escape("a\x1b[31mb\r\n\t\0\x7f"), "a^[[31mb\\r\\n\\t^@^?");
        assert_eq!(escape("x\u{202e}y\u{9b}\u{200b}"), "x\\u{202e}y\\u{9b}\\u{200b}");
        assert!(matches!(escape("wéb-0 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn shortened_text_has_the_length_asked_for() {
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefg", 6), "abcde…");
        assert_eq!(shorten("日本語日本語", 3), "日本…");
        assert_eq!(shorten("", 0), "");
        assert_eq!(shorten("ab", 0), "…");
    }

    #[test]
    fn parts_that_do_not_fit_are_counted() {
        let parts = ["alpha".to_owned(), "beta".to_owned(), "gamma".to_owned()];
        assert_eq!(fit(&parts, 0, 100), "alpha, beta, gamma");
        assert_eq!(fit(&parts, 2, 100), "alpha, beta, gamma +2 more");
        assert_eq!(fit(&parts, 0, 18), "alpha, beta, gamma");
        assert_eq!(fit(&parts, 0, 17), "alpha +2 more");
        assert_eq!(fit(&parts, 1, 19), "alpha, beta +2 more");
        assert_eq!(fit(&parts[..1], 0, 3), "al…");
        assert_eq!(fit(&parts, 0, 0), "… +2 more");
        assert_eq!(fit(&[], 0, 10), "");
    }

    proptest! {
        #[test]
        fn a_fitted_phrase_keeps_its_room(
            parts in proptest::collection::vec("[a-zé日]{1,30}", 1..8), unnamed in 0usize..200, room in 12usize..120
        ) {
            let text = fit(&parts, unnamed, room);
            prop_assert!(text.chars().count() <= room, "{}", text);
        }

        #[test]
        fn escaped_text_holds_no_control_character(text in ".*|[\\x00-\\x1f\\x7f-\\u{9f}]*") {
            let escaped = escape(&text);
            prop_assert!(!escaped.chars().any(is_unsafe));
            prop_assert_eq!(escape(&escaped), escaped.as_ref());
        }
    }
}
