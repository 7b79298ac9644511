//! Pages that show code: each block of it is part of a program that the tests run.

use crate::File;

/// Pages, and the folders that hold the programs.
const PAGES: &[(&str, &[&str])] = &[
    ("docs/write-a-controller.md", &["crates/informer/tests/guide/"]),
    ("docs/controller-runtime.md", &["crates/informer/tests/guide/"]),
    ("docs/kube-runtime.md", &["crates/informer/tests/guide/", "crates/informer-kube-runtime/tests/"]),
];

/// A block that begins so is ours; code of others, which no test of ours can run, has another mark.
const BEGIN: &str = "```rust";
const END: &str = "```";

/// Every block that is in no program, and every page that is not there.
pub(crate) fn problems(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for (page, folders) in PAGES {
        let Some(page) = files.iter().find(|file| file.path == *page) else {
            problems.push(format!("{page}: listed as a page, but not there"));
            continue;
        };
        let is_in_a_folder = |file: &&File| folders.iter().any(|folder| file.path.starts_with(folder));
        let programs: Vec<Vec<&str>> =
            files.iter().filter(is_in_a_folder).map(|file| plain_lines(&file.text)).collect();
        for (index, block) in blocks(&page.text) {
            if !programs.iter().any(|program| contains(program, &block)) {
                problems.push(page.at(index, "this block is in none of the programs"));
            }
        }
    }
    problems
}

/// Indentation differs where a function is shown without its module.
fn plain_lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn blocks(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if line == BEGIN {
            let block = lines.by_ref().map(|(_, line)| line.trim()).take_while(|line| *line != END);
            blocks.push((index, block.filter(|line| !line.is_empty()).collect()));
        }
    }
    blocks
}

fn contains(program: &[&str], block: &[&str]) -> bool {
    !block.is_empty() && program.windows(block.len()).any(|window| window == block)
}

#[test]
fn a_block_that_no_program_has_is_found() {
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let found = |block: &str| {
        let pages = PAGES.iter().map(|(page, _)| file(page, &format!("x\n```rust\n{block}\n```\n")));
        let program = file("crates/informer/tests/guide/a.rs", "mod a {\n    one();\n\n    two();\n}\n");
        problems(&pages.chain([program]).collect::<Vec<_>>())
    };
    assert_eq!(found("one();\ntwo();"), Vec::<String>::new());
    assert_eq!(found("one();\nthree();").len(), PAGES.len());
    assert_eq!(found("").len(), PAGES.len());
}
