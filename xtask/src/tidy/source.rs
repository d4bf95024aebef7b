//! Things that no Rust file may hold: skipped tests, leftovers, and tests that wait for time.

use super::Finding;
use super::tokens::{Text, Token, is_path_separator, sources};
use super::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let (sources, mut findings) = sources(tree);
    for (path, tokens) in &sources {
        let is_helper = path.contains("/tests/helpers/");
        for (at, token) in tokens.iter().enumerate() {
            let sleeper = !is_helper && is_idle_test(tokens, at);
            if let Some(what) = problem(tokens, at).or_else(|| sleeper.then(|| SLEEPS.to_owned())) {
                findings.push(Finding::new(path, token.line, what));
            }
        }
    }
    findings
}

fn problem(tokens: &[Token], at: usize) -> Option<String> {
    let word = tokens[at].word()?;
    let next = tokens.get(at + 1);
    if LEFTOVERS.contains(&word) && next.is_some_and(|token| token.is_mark('!')) {
        return Some(format!("`{word}!` is a leftover"));
    }
    if word == "ignore" && at >= 2 && tokens[at - 1].text == Text::Open('[') {
        let attribute = tokens[at - 2].is_mark('#');
        return attribute.then(|| "an ignored test proves nothing: fix it or remove it".to_owned());
    }
    None
}

/// Whether a test sleeps here to let something happen. In a loop it looks again and again, which is
/// how one waits for what other processes do, or it varies an instant.
fn is_idle_test(tokens: &[Token], at: usize) -> bool {
    tokens[at].in_test
        && tokens[at].is_word("thread")
        && is_path_separator(tokens, at + 1)
        && tokens.get(at + 3).is_some_and(|token| token.is_word("sleep"))
        && !is_in_a_loop(&tokens[..at])
}

/// Whether the last of these tokens stands in the body of a loop.
fn is_in_a_loop(before: &[Token]) -> bool {
    let mut closed = 0;
    for (at, token) in before.iter().enumerate().rev() {
        match token.text {
            Text::Close('}') => closed += 1,
            Text::Open('{') if closed > 0 => closed -= 1,
            Text::Open('{') => {
                let header = before[..at].iter().rev().take_while(|token| {
                    !token.is_mark(';') && !matches!(token.text, Text::Open('{') | Text::Close('}'))
                });
                if header
                    .into_iter()
                    .any(|token| token.word().is_some_and(|word| LOOPS.contains(&word)))
                {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

const LOOPS: [&str; 3] = ["loop", "while", "for"];
const SLEEPS: &str =
    "a test that sleeps is slow and still flaky: wait for the event, or hand the time in";
const LEFTOVERS: [&str; 3] = ["dbg", "todo", "unimplemented"];

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(path: &str, text: &str) -> Vec<(usize, String)> {
        let findings = check(&Tree::of([(path, text)]));
        findings.into_iter().map(|finding| (finding.line, finding.what)).collect()
    }

    #[test]
    fn each_leftover_is_found_with_its_line() {
        for (text, part) in [
            ("fn a() {\n    dbg!(1);\n}", "`dbg!`"),
            ("fn a() {\n    todo!()\n}", "`todo!`"),
            ("fn a() {\n    std::unimplemented!()\n}", "`unimplemented!`"),
            ("#[test]\n#[ignore]\nfn a() {}", "ignored test"),
            ("#[test]\n#[ignore = \"slow\"]\nfn a() {}", "ignored test"),
            ("#[test] fn a() {\n    std::thread::sleep(second)\n}", "sleeps"),
        ] {
            let found = whats("src/lib.rs", text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].0, 2, "{text}");
            assert!(found[0].1.contains(part), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_only_looks_alike_is_left_alone() {
        let text =
            "// dbg!(x) and todo!()\nfn todo() { ignore[0]; \"#[ignore]\"; thread::sleep(x) }";
        assert_eq!(whats("src/lib.rs", text), []);
        assert_eq!(whats("crates/a/tests/b.rs", "fn a() { thread::sleep(x) }").len(), 1);
        assert_eq!(whats("crates/a/tests/helpers/b.rs", "fn a() { thread::sleep(x) }"), []);
    }

    #[test]
    fn looking_again_and_again_is_waiting_not_sleeping() {
        for (text, count) in [
            ("fn a() { while !b() { thread::sleep(x); } }", 0),
            ("fn a() { loop { if c() { thread::sleep(x); } } }", 0),
            ("fn a() { for b in c { d(); } thread::sleep(x); }", 1),
            ("fn a() { loop { b(); } } fn c() { thread::sleep(x); }", 1),
        ] {
            assert_eq!(whats("crates/a/tests/b.rs", text).len(), count, "{text}");
        }
    }
}
