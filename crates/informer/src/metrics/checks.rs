//! Checks of health and readiness, and the page that tells how they went.

use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A reason is cut here: it is for a line of a page.
const MAX_REASON_BYTES: usize = 1024;

/// Named checks, in the order in which they were added.
#[derive(Default)]
pub(super) struct Checks(Vec<Check>);

struct Check {
    name: String,
    run: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// How they went.
pub(super) struct Outcome {
    pub(super) passed: bool,
    /// A line each, as API servers write them.
    pub(super) page: String,
}

impl Checks {
    pub(super) fn push<E: fmt::Display>(
        &mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), E> + Send + Sync + 'static,
    ) {
        let run = Box::new(move || check().map_err(|reason| one_line(&reason.to_string())));
        self.0.push(Check { name: name.into(), run });
    }

    /// Runs all but those that the query excludes (`exclude=name&exclude=other`). `title` is the endpoint's name.
    pub(super) fn run(&self, title: &str, query: &str) -> Outcome {
        let excluded: Vec<&str> = query
            .split('&')
            .filter_map(|part| part.strip_prefix("exclude="))
            .filter(|name| !name.is_empty())
            .collect();
        let (mut passed, mut page) = (true, String::new());
        for Check { name, run } in &self.0 {
            let line = if excluded.contains(&name.as_str()) {
                format!("[+]{name} excluded: ok")
            } else {
                // Without the panic's message, which may quote what it was about; the panic hook has shown it.
                match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("the check panicked".into()))
                {
                    Ok(()) => format!("[+]{name} ok"),
                    Err(reason) => {
                        passed = false;
                        format!("[-]{name} failed: {reason}")
                    }
                }
            };
            writeln!(page, "{line}").expect("a String takes everything");
        }
        if excluded.iter().any(|excluded| self.0.iter().all(|check| check.name != *excluded)) {
            page.push_str("warn: some checks to exclude do not exist\n");
        }
        let verdict = if passed { "passed" } else { "failed" };
        writeln!(page, "{title} check {verdict}").expect("a String takes everything");
        Outcome { passed, page }
    }
}

fn one_line(reason: &str) -> String {
    let mut end = reason.len().min(MAX_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Checks {
        let mut checks = Checks::default();
        checks.push("good", || Ok::<_, String>(()));
        checks.push("bad", || Err("two\nlines"));
        checks.push("broken", || -> Result<(), String> { panic!("secret") });
        checks
    }

    #[test]
    fn each_failure_has_its_line_and_reason() {
        let Outcome { passed, page } = checks().run("readyz", "");
        assert!(!passed);
        assert_eq!(
            page,
            "[+]good ok\n[-]bad failed: two lines\n[-]broken failed: the check panicked\nreadyz check failed\n"
        );
    }

    #[test]
    fn excluded_checks_do_not_count() {
        let Outcome { passed, page } = checks().run("readyz", "verbose&exclude=bad&exclude=broken");
        assert!(passed, "{page}");
        assert!(page.contains("[+]bad excluded: ok\n"), "{page}");
        let Outcome { page, .. } = checks().run("readyz", "exclude=nobody");
        assert!(page.contains("warn: "), "{page}");
    }

    #[test]
    fn without_checks_all_is_well() {
        assert!(Checks::default().run("healthz", "exclude=").passed);
    }
}
