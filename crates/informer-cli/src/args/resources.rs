//! `pods`, `pods,services`, `pods web-0`, `deployment/web service/web`: what the words after the command mean.

use crate::text::excerpt;

/// One resource, and the objects of it that were named; none named means all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceArg {
    pub(crate) resource: String,
    pub(crate) names: Vec<String>,
}

/// The words make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ResourceArgError {
    #[error("{} is empty or has an empty part", quoted(.0))]
    Empty(String),
    #[error("{} has more than one slash", quoted(.0))]
    TwoSlashes(String),
    #[error("write either RESOURCE/NAME everywhere or RESOURCE NAME..., not both: {}", quoted(.0))]
    Mixed(String),
    #[error("{} is asked for both as a whole and by name", quoted(.0))]
    WholeAndNamed(String),
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", excerpt(text, 64))
}

/// Reads the words. Mentioning a resource twice joins the names.
///
/// # Errors
/// Empty parts, two slashes in a part, or names beside `RESOURCE/NAME`.
pub(crate) fn parse_resources(words: &[String]) -> Result<Vec<ResourceArg>, ResourceArgError> {
    let mut found: Vec<ResourceArg> = Vec::new();
    let slashes = words.iter().any(|word| word.contains('/'));
    let (lists, names) = if slashes { (words, &[][..]) } else { words.split_at(words.len().min(1)) };
    // Behind a slash-form word a bare one can only be a misplaced name.
    if let Some(bare) = lists.iter().skip(1).find(|word| !word.contains('/')) {
        return Err(ResourceArgError::Mixed(bare.clone()));
    }
    for list in lists {
        for part in list.split(',') {
            let (resource, name) = match part.split_once('/') {
                None => (part, None),
                Some((_, name)) if name.contains('/') => {
                    return Err(ResourceArgError::TwoSlashes(part.to_owned()));
                }
                Some((resource, name)) => (resource, Some(name)),
            };
            if resource.is_empty() || name == Some("") {
                return Err(ResourceArgError::Empty(list.clone()));
            }
            let names = name.map(str::to_owned).into_iter().chain(names.iter().cloned()).collect();
            add(&mut found, resource, names)?;
        }
    }
    match names.iter().find(|name| name.is_empty()) {
        Some(empty) => Err(ResourceArgError::Empty(empty.clone())),
        None => Ok(found),
    }
}

fn add(found: &mut Vec<ResourceArg>, resource: &str, names: Vec<String>) -> Result<(), ResourceArgError> {
    let at = match found.iter().position(|known| known.resource == resource) {
        Some(at) if found[at].names.is_empty() != names.is_empty() => {
            return Err(ResourceArgError::WholeAndNamed(resource.to_owned()));
        }
        Some(at) => at,
        None => {
            found.push(ResourceArg { resource: resource.to_owned(), names: Vec::new() });
            found.len() - 1
        }
    };
    for name in names {
        if !found[at].names.contains(&name) {
            found[at].names.push(name);
        }
    }
    Ok(())
}
