//! An object's JSON with holes, which is filled for one object at the cost of copying it.

/// JSON text in pieces, with a hole after each but the last.
///
/// ```
/// use informer_bench::Template;
///
/// let template = Template::parse(r#"{ "metadata": {"name": "@{name}"}, "b": "c d" }"#);
/// let mut out = Vec::new();
/// template.fill(&mut out, |hole, out| out.extend_from_slice(hole.to_uppercase().as_bytes()));
/// assert_eq!(out, br#"{"metadata":{"name":"NAME"},"b":"c d"}"#);
/// assert_eq!(template.field("metadata").text(), r#"{"name":"@{name}"}"#);
/// ```
#[derive(Debug)]
pub struct Template {
    text: String,
    /// A piece of text, and the name of the hole that follows it: empty after the last piece.
    pieces: Vec<(String, String)>,
}

impl Template {
    /// Removes the blanks between the words of a JSON text and finds its holes: `@{name}`, inside of strings.
    ///
    /// # Panics
    /// If a hole does not end.
    #[must_use]
    pub fn parse(json: &str) -> Self {
        let text = minified(json);
        let mut pieces = Vec::new();
        let mut rest = &text[..];
        while let Some((piece, after)) = rest.split_once("@{") {
            let (hole, after) = after.split_once('}').expect("a hole ends");
            pieces.push((piece.to_owned(), hole.to_owned()));
            rest = after;
        }
        pieces.push((rest.to_owned(), String::new()));
        Self { text, pieces }
    }

    /// Appends the text, its holes filled by `value`.
    pub fn fill(&self, out: &mut Vec<u8>, mut value: impl FnMut(&str, &mut Vec<u8>)) {
        for (piece, hole) in &self.pieces {
            out.extend_from_slice(piece.as_bytes());
            if !hole.is_empty() {
                value(hole, out);
            }
        }
    }

    /// The text, holes and all.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The object that is the value of the first field of this name.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        let label = format!("\"{name}\":");
        let start = self.text.find(&label).expect("the field is there") + label.len();
        let mut depth = 0_usize;
        // A hole's braces come in pairs too, so that they need no care here.
        let end = self.text[start..].char_indices().find_map(|(at, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(start + at + 1)
        });
        Self::parse(&self.text[start..end.expect("the field ends")])
    }
}

/// Without the blanks that are not in strings.
fn minified(json: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |&character: &char| {
        let blank = !in_string && character.is_ascii_whitespace();
        if character == '"' && !is_escaped {
            in_string = !in_string;
        }
        is_escaped = in_string && character == '\\' && !is_escaped;
        !blank
    };
    json.chars().filter(is_kept).collect()
}
