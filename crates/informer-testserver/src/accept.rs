//! Content negotiation: which shape of JSON an Accept header asks for.

/// The Accept header, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accept {
    /// As it came.
    pub(crate) text: String,
    clauses: Vec<Clause>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    media: String,
    kind: String,
    group: String,
    version: String,
}

/// The shape of an answer's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    Partial,
    Table,
}

impl Accept {
    pub(crate) fn parse(text: &str) -> Self {
        let clauses = text
            .split(',')
            .map(str::trim)
            .filter(|clause| !clause.is_empty())
            .map(|clause| {
                let mut parts = clause.split(';').map(str::trim);
                let media = parts.next().unwrap_or("").to_ascii_lowercase();
                let mut out =
                    Clause { media, kind: String::new(), group: String::new(), version: String::new() };
                for (key, value) in parts.filter_map(|part| part.split_once('=')) {
                    match key {
                        "as" => out.kind = value.into(),
                        "g" => out.group = value.into(),
                        "v" => out.version = value.into(),
                        _ => {}
                    }
                }
                out
            })
            .collect();
        Self { text: text.to_owned(), clauses }
    }

    /// The first acceptable shape for objects, or `None` (406).
    pub(crate) fn shape(&self) -> Option<Shape> {
        if self.clauses.is_empty() {
            return Some(Shape::Object);
        }
        self.clauses.iter().filter(|clause| clause.is_json()).find_map(|clause| match clause.kind.as_str() {
            "" => Some(Shape::Object),
            "PartialObjectMetadata" | "PartialObjectMetadataList" if clause.is_meta() => Some(Shape::Partial),
            "Table" if clause.is_meta() => Some(Shape::Table),
            _ => None,
        })
    }

    /// Asks for aggregated discovery in its stable version.
    pub(crate) fn aggregated_discovery(&self) -> bool {
        self.clauses
            .iter()
            .find(|clause| clause.is_json() && matches!(clause.version.as_str(), "" | "v2"))
            .is_some_and(|clause| {
                clause.kind == "APIGroupDiscoveryList" && clause.group == "apidiscovery.k8s.io"
            })
    }
}

impl Clause {
    fn is_json(&self) -> bool {
        matches!(self.media.as_str(), "application/json" | "application/*" | "*/*")
    }

    fn is_meta(&self) -> bool {
        self.group == "meta.k8s.io" && matches!(self.version.as_str(), "v1" | "v1beta1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_shape_wins() {
        let shape = |text| Accept::parse(text).shape();
        assert_eq!(shape(""), Some(Shape::Object));
        assert_eq!(shape("text/html"), None);
        assert_eq!(shape("application/vnd.kubernetes.protobuf,application/json"), Some(Shape::Object));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(shape(table), Some(Shape::Table));
        assert_eq!(shape("application/json;as=Odd;v=v1;g=meta.k8s.io"), None);
        assert!(
            Accept::parse(
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
            )
            .aggregated_discovery()
        );
    }
}
