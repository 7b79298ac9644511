//! What the API takes: lengths in bytes and forms of names, as kube-apiserver checks them for events.k8s.io/v1.

/// The longest note.
pub(super) const MAX_NOTE_BYTES: usize = 1024;
/// The longest reason, action and instance.
pub(super) const MAX_WORD_BYTES: usize = 128;

const MAX_LABEL_BYTES: usize = 63;
const MAX_SUBDOMAIN_BYTES: usize = 253;

/// Cuts a text at the end of a character.
pub(super) fn cut(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        let end = (0..=max_bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
}

pub(super) fn is_word(text: &str) -> bool {
    (1..=MAX_WORD_BYTES).contains(&text.len())
}

/// `name` or `dns.subdomain/name`.
pub(super) fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let edges = [name.bytes().next(), name.bytes().last()];
    (1..=MAX_LABEL_BYTES).contains(&name.len())
        && name.bytes().all(inner)
        && edges.iter().flatten().all(u8::is_ascii_alphanumeric)
        && prefix.is_none_or(is_subdomain)
}

/// A namespace's name.
pub(super) fn is_namespace(text: &str) -> bool {
    text.len() <= MAX_LABEL_BYTES && is_label(text)
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN_BYTES && text.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_characters() {
        for (text, max, left) in
            [("abc", 3, "abc"), ("abc", 2, "ab"), ("aé", 2, "a"), ("€", 2, ""), ("aé", 3, "aé")]
        {
            let mut cut_text = text.to_owned();
            cut(&mut cut_text, max);
            assert_eq!(cut_text, left);
        }
    }

    #[test]
    fn qualified_names_are_those_of_the_api() {
        let long = "x".repeat(64);
        for (name, valid) in [
            ("demo", true),
            ("example.com/UP_per.x", true),
            ("Example.com/demo", false),
            ("a/b/c", false),
            ("", false),
            ("/a", false),
            ("a/", false),
            ("-a", false),
            ("a_", false),
            ("a b", false),
            (&long, false),
            (&long[1..], true),
        ] {
            assert_eq!(is_qualified_name(name), valid, "{name}");
        }
    }
}
