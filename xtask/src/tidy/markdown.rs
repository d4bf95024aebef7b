//! Documents have one title, and their links lead somewhere.

use std::collections::HashMap;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::tree::Tree;
use super::{Finding, line_of};

pub fn check(tree: &Tree) -> Vec<Finding> {
    let documents = || {
        tree.texts_with_extension("md")
            .filter(|(path, _)| path.starts_with("docs/") || !path.contains('/'))
    };
    let outlines: HashMap<&str, Outline> =
        documents().map(|(path, text)| (path, Outline::of(text))).collect();
    let mut findings = Vec::new();
    for (path, _) in documents() {
        let outline = &outlines[path];
        match outline.titles.as_slice() {
            [_] => {}
            [] => findings.push(Finding::new(path, 1, "has no title (`# …`)")),
            [_, second, ..] => findings.push(Finding::new(path, *second, "has a second title")),
        }
        for (line, target) in &outline.links {
            if let Some(problem) = broken(path, target, tree, &outlines) {
                let what = format!("link to `{target}`: {problem}");
                findings.push(Finding::new(path, *line, what));
            }
        }
    }
    findings
}

/// What a document offers to links, and where its own lead.
#[derive(Debug, Default)]
struct Outline {
    titles: Vec<usize>,
    anchors: Vec<String>,
    links: Vec<(usize, String)>,
}

impl Outline {
    fn of(text: &str) -> Self {
        let mut outline = Self::default();
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = line_of(text, range.start);
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    if level == HeadingLevel::H1 {
                        outline.titles.push(line);
                    }
                    heading = Some(String::new());
                }
                Event::End(TagEnd::Heading(_)) => {
                    if let Some(heading) = heading.take() {
                        outline.add_anchor(&heading);
                    }
                }
                Event::Text(part) | Event::Code(part) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&part);
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    outline.links.push((line, dest_url.into_string()));
                }
                _ => {}
            }
        }
        outline
    }

    /// Adds the anchor that the usual renderers give to a heading.
    fn add_anchor(&mut self, heading: &str) {
        let slug: String = heading
            .to_lowercase()
            .chars()
            .filter(|character| character.is_alphanumeric() || "-_ ".contains(*character))
            .map(|character| if character == ' ' { '-' } else { character })
            .collect();
        let unique = std::iter::once(slug.clone())
            .chain((1..).map(|number| format!("{slug}-{number}")))
            .find(|candidate| !self.anchors.contains(candidate));
        self.anchors.extend(unique);
    }
}

fn broken(
    path: &str,
    target: &str,
    tree: &Tree,
    outlines: &HashMap<&str, Outline>,
) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    if target.starts_with('/') {
        return Some("not relative");
    }
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    };
    let file = if file.is_empty() { Some(path.to_owned()) } else { joined(path, file) };
    let Some(file) = file else {
        return Some("leaves the repository");
    };
    if !tree.holds(&file) {
        return Some("no such file");
    }
    let outline = outlines.get(file.as_str());
    match (anchor, outline) {
        (Some(anchor), Some(outline)) if !outline.anchors.iter().any(|known| known == anchor) => {
            Some("no such heading")
        }
        _ => None,
    }
}

/// The path from the root that a relative one means in a document.
fn joined(document: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<_> = document.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_title_and_no_more() {
        assert_eq!(shown([("docs/a.md", "# A\n\n```sh\n# not a title\n```\n\n## B\n")]), [""; 0]);
        assert_eq!(shown([("docs/a.md", "## B\n")]), ["docs/a.md:1: has no title (`# …`)"]);
        assert_eq!(shown([("A.md", "# A\n\ntext\n\n# B\n")]), ["A.md:5: has a second title"]);
    }

    #[test]
    fn links_that_resolve() {
        let links = "# A\n\n[b](b.md) [c](../c.md#the-third-part) [self](#a) [folder](.) \
                     [web](https://example.org/x) [p](mailto:a@example.org)\n";
        let third = "# C\n\n## The *third* `part`!\n";
        assert_eq!(shown([("docs/a.md", links), ("docs/b.md", "# B"), ("c.md", third)]), [""; 0]);
    }

    #[test]
    fn links_that_do_not() {
        for (link, problem) in [
            ("b.md", "no such file"),
            ("../../b.md", "leaves the repository"),
            ("/etc/passwd", "not relative"),
            ("#b", "no such heading"),
            ("../c.md#d", "no such heading"),
        ] {
            let text = format!("# A\n\n[x]({link})\n");
            let expected = format!("docs/a.md:3: link to `{link}`: {problem}");
            assert_eq!(shown([("docs/a.md", &text), ("c.md", "# C")]), [expected]);
        }
    }

    #[test]
    fn the_second_heading_of_a_name_gets_a_number() {
        let outline = Outline::of("# A\n## Same\n## Same\n## max_cost\n");
        assert_eq!(outline.anchors, ["a", "same", "same-1", "max_cost"]);
    }

    #[test]
    fn pages_inside_crates_have_their_own_checks() {
        assert_eq!(shown([("crates/a/src/pages/b.md", "no title")]), [""; 0]);
    }
}
