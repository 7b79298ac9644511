//! From a word to a resource, or to the names it may have meant.

use super::{Catalog, Resource};
use crate::text::excerpt;

/// How many names are suggested.
const SUGGESTIONS: usize = 3;
/// Longer words get no suggestions: no resource has such a name, and the comparison costs length².
const LONGEST_WORD: usize = 64;

/// The server has no resource of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server doesn't have a resource type \"{}\"{}{}", excerpt(.word, 64), suggested(.nearest), unread(.problems))]
pub(crate) struct UnknownResource {
    pub(crate) word: String,
    /// Names that look like it, the nearest first.
    pub(crate) nearest: Vec<String>,
    /// What could not be asked, and so might have it.
    pub(crate) problems: Vec<String>,
}

fn suggested(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [front @ .., last] => format!("; did you mean {} or {last}?", front.join(", ")),
    }
}

fn unread(problems: &[String]) -> String {
    match problems {
        [] => String::new(),
        [one] => format!(" (not everything could be asked: {one})"),
        [one, more @ ..] => format!(" (not everything could be asked: {one}, and {} more)", more.len()),
    }
}

impl Catalog {
    /// The resources that `word` names: the one of that name, else all that can be listed and watched of a category
    /// (`all`), in the server's order.
    ///
    /// # Errors
    /// `UnknownResource` with the names nearest to it.
    pub(crate) fn find(&self, word: &str) -> Result<Vec<&Resource>, UnknownResource> {
        let unknown = match self.resolve(word) {
            Ok(resource) => return Ok(vec![resource]),
            Err(unknown) => unknown,
        };
        let word = word.to_lowercase();
        let mut found: Vec<&Resource> = Vec::new();
        for resource in &self.resources {
            let fits = resource.categories.contains(&word) && resource.can("list") && resource.can("watch");
            // Of several versions the first is the preferred one.
            if fits && !found.iter().any(|known| known.full_name() == resource.full_name()) {
                found.push(resource);
            }
        }
        if found.is_empty() { Err(unknown) } else { Ok(found) }
    }

    /// The resource that `word` names: plural, singular, kind or short name, in any case; alone, with its group
    /// (`deployments.apps`) or with version and group (`deployments.v1.apps`).
    ///
    /// A full name comes before a short name, the core group before others, and else the server's order decides.
    ///
    /// # Errors
    /// `UnknownResource` with the names nearest to it.
    pub(crate) fn resolve(&self, word: &str) -> Result<&Resource, UnknownResource> {
        let lower = word.to_lowercase();
        let (name, rest) = lower.split_once('.').unwrap_or((lower.as_str(), ""));
        let qualified = lower.contains('.');
        let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
        type Fits<'a> = Box<dyn Fn(&Resource) -> bool + 'a>;
        // As kubectl: resource.version.group is tried before resource.group, a whole group before the start of one.
        let readings: Vec<Fits<'_>> = if qualified {
            vec![
                Box::new(|r| r.api.version == version && r.api.group == group),
                Box::new(|r| r.api.group == rest),
                Box::new(|r| !rest.is_empty() && r.api.group.starts_with(rest)),
            ]
        } else {
            vec![Box::new(|_| true)]
        };
        for fits in &readings {
            let candidates = self.resources.iter().filter(|r| fits(r));
            if let Some((_, found)) =
                candidates.filter_map(|r| Some((rank(r, name)?, r))).min_by_key(|(rank, _)| *rank)
            {
                return Ok(found);
            }
        }
        Err(UnknownResource {
            word: word.to_owned(),
            nearest: self.nearest(&lower),
            problems: self.problems.clone(),
        })
    }

    fn nearest(&self, word: &str) -> Vec<String> {
        let word: Vec<char> = word.chars().collect();
        if word.len() > LONGEST_WORD {
            return vec![];
        }
        let bare: Vec<char> = word.iter().copied().take_while(|c| *c != '.').collect();
        let mut found: Vec<(usize, String)> = Vec::new();
        for resource in self.resources.iter().filter(|r| r.can("list")) {
            // A word with a dot is compared with full names; its first part alone with short forms.
            let full = distance(&word, &resource.full_name());
            let others =
                [&resource.api.plural, &resource.singular].into_iter().map(|name| distance(&bare, name));
            // Short names are near to everything short: only a slip of one key counts.
            let slip = |name: &&String| bare.len() > 2 && distance(&bare, name) == 1;
            let short = resource.short_names.iter().find(slip).map_or(usize::MAX, |_| 1);
            let best = others.fold(full.min(short), usize::min);
            let name = resource.full_name();
            if best <= allowed(bare.len()) && !found.iter().any(|(_, known)| *known == name) {
                found.push((best, name));
            }
        }
        // `pods.v2`: the name is right and the rest is not, so no other name was meant.
        if found.iter().any(|(distance, _)| *distance == 0) {
            found.retain(|(distance, _)| *distance == 0);
        }
        // Stable: equally near names stay in the server's order.
        found.sort_by_key(|(distance, _)| *distance);
        found.into_iter().take(SUGGESTIONS).map(|(_, name)| excerpt(&name, 128)).collect()
    }
}

/// How well a name fits: smaller is better, `None` not at all.
fn rank(resource: &Resource, name: &str) -> Option<u8> {
    if resource.api.plural == name {
        Some(0)
    } else if resource.singular == name || resource.api.kind.to_lowercase() == name {
        Some(1)
    } else if resource.short_names.iter().any(|short| short == name) {
        Some(2)
    } else {
        None
    }
}

/// Typing errors forgiven in a word of that length.
fn allowed(length: usize) -> usize {
    match length {
        0..=3 => 1,
        4..=7 => 2,
        _ => 3,
    }
}

/// Edit distance in insertions, deletions, replacements and swaps of neighbours.
fn distance(word: &[char], name: &str) -> usize {
    let name: Vec<char> = name.chars().take(2 * LONGEST_WORD).collect();
    let mut before: Vec<usize> = vec![];
    let mut above: Vec<usize> = (0..=name.len()).collect();
    for (i, &a) in word.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in name.iter().enumerate() {
            let mut best = (above[j] + usize::from(a != b)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a == name[j - 1] && word[i - 1] == b {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn a_swap_is_one_error() {
        let d = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), b);
        assert_eq!(d("pods", "pods"), 0);
        assert_eq!(d("pdos", "pods"), 1);
        assert_eq!(d("", "pods"), 4);
        assert_eq!(d("deploymnet", "deployments"), 2);
        assert_eq!(d("kitten", "sitting"), 3);
    }
}
