//! Decodes JSON strings.

use std::borrow::Cow;

use memchr::memchr;

use crate::error::{WireError, WireErrorKind};

/// The text between the quotes of a JSON string. Borrowed unless it has escapes.
#[inline]
pub(crate) fn decode(raw: &[u8]) -> Result<Cow<'_, str>, WireError> {
    // Without an early end, so that the compiler looks at many bytes at once.
    let special = raw.iter().fold(false, |special, &byte| special | (byte < 0x20) | (byte == b'\\'));
    if special { unescape(raw).map(Cow::Owned) } else { utf8(raw, 0).map(Cow::Borrowed) }
}

#[cold]
fn unescape(raw: &[u8]) -> Result<String, WireError> {
    if let Some(at) = raw.iter().position(|&byte| byte < 0x20) {
        return Err(bad(at, "a control character"));
    }
    let mut text = String::with_capacity(raw.len());
    let (mut plain, mut next) = (0, memchr(b'\\', raw));
    while let Some(at) = next {
        text.push_str(utf8(&raw[plain..at], plain)?);
        let (escaped, len) = escape(&raw[at..]).map_err(|problem| bad(at, problem))?;
        text.push(escaped);
        plain = at + len;
        next = memchr(b'\\', &raw[plain..]).map(|found| plain + found);
    }
    text.push_str(utf8(&raw[plain..], plain)?);
    Ok(text)
}

/// The character an escape stands for, and the escape's length.
fn escape(raw: &[u8]) -> Result<(char, usize), &'static str> {
    let simple = match raw.get(1) {
        Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(raw),
        _ => return Err("an unknown escape"),
    };
    Ok((simple, 2))
}

fn unicode_escape(raw: &[u8]) -> Result<(char, usize), &'static str> {
    let unit = code_unit(raw)?;
    if !(0xD800..0xE000).contains(&unit) {
        return Ok((char::from_u32(unit).ok_or("a lone surrogate")?, 6));
    }
    let low = raw.get(6..).and_then(|rest| code_unit(rest).ok()).unwrap_or(0);
    if unit >= 0xDC00 || !(0xDC00..0xE000).contains(&low) {
        return Err("a lone surrogate");
    }
    let scalar = 0x10000 + ((unit - 0xD800) << 10 | (low - 0xDC00));
    Ok((char::from_u32(scalar).ok_or("a lone surrogate")?, 12))
}

/// The number in `\uXXXX`.
fn code_unit(raw: &[u8]) -> Result<u32, &'static str> {
    let Some([b'\\', b'u', digits @ ..]) = raw.get(..6) else {
        return Err("an unfinished escape");
    };
    digits.iter().try_fold(0, |unit, &digit| {
        let digit = char::from(digit).to_digit(16).ok_or("an escape with other than hex digits")?;
        Ok(unit << 4 | digit)
    })
}

#[inline]
fn utf8(raw: &[u8], base: usize) -> Result<&str, WireError> {
    std::str::from_utf8(raw).map_err(|error| bad(base + error.valid_up_to(), "invalid UTF-8"))
}

#[cold]
fn bad(at: usize, problem: &'static str) -> WireError {
    WireError::at(at, WireErrorKind::BadText { problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_as_serde_json_does() {
        let texts: [&[u8]; 16] = [
            br"plain",
            "größe 名前 🚀".as_bytes(),
            br#"\"\\\/\b\f\n\r\t"#,
            br"\u0041\u00e9\u20AC\ud83d\ude80x",
            br"\ud83d",
            br"\ud83dx",
            br"\ud83d\u0041",
            br"\ude80",
            br"\ude80\ud83d",
            br"\u12",
            br"\u12G4",
            br"\u+123",
            br"\x41",
            b"a\nb",
            b"\xff",
            b"\\n\xc3(",
        ];
        for raw in texts {
            let quoted = [b"\"", raw, b"\""].concat();
            let want = serde_json::from_slice::<String>(&quoted).ok();
            let is = decode(raw).ok().map(Cow::into_owned);
            assert_eq!(is, want, "{}", raw.escape_ascii());
        }
    }

    #[test]
    fn unescaped_text_is_borrowed() {
        assert!(matches!(decode(b"web-0").unwrap(), Cow::Borrowed("web-0")));
    }
}
