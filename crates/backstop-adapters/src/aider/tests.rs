use rstest::rstest;

use super::*;
use crate::testing::{read, told};

fn aider(stream: &str) -> Vec<String> {
    told(&mut Aider::default(), stream)
}

const HISTORY: &str = "
# aider chat started at 2026-07-03 13:15:19

> Aider v0.86.2  
> Main model: deepseek/v4 with whole edit format, infinite output  

#### do it  

I will write Tokens: many.

> Tokens: 2.4k sent, 1.2k cache write, 8.0k cache hit, 91 received.
Cost: $0.0085 message, $0.0085 session. Use --no-stream for accurate caching costs.  
> Applied edit to src/a.rs  
> Commit 591894f docs: more  

# aider chat started at 2026-07-03 14:00:00

#### again  

Done.

> Tokens: 10,332 sent, 439 received.  
";

#[test]
fn a_history_is_told_whole() {
    let (told, outcome) = read(&mut Aider::default(), HISTORY.as_bytes(), None);
    assert_eq!(
        told,
        [
            "said I will write Tokens: many.",
            "usage 1200 91 8000 1200 $0.0085 deepseek/v4",
            "action edit: src/a.rs\n\nI will write Tokens: many.\n\n => ",
            "ended Succeeded",
            "launched",
            "said Done.",
            "usage 10332 439 0 0",
            "result Done.",
        ]
    );
    assert_eq!(outcome, Outcome::Succeeded);
}

#[test]
fn edits_of_one_file_are_equal_only_if_the_model_wrote_the_same() {
    let edit = |words: &str| {
        format!("{words}\n\nTokens: 5 sent, 1 received.\nApplied edit to src/a.rs\n\n")
    };
    let stream = ["Aider v0.86.2\n".to_owned(), edit("one"), edit("two"), edit("two")].concat();
    let told = aider(&stream);
    let edits: Vec<_> = told.iter().filter(|line| line.starts_with("action edit")).collect();
    let [one, two, again] = edits[..] else { panic!("{told:?}") };
    assert_ne!(one, two);
    assert_eq!(two, again);
}

#[test]
fn what_is_quoted_on_the_screen_is_the_models() {
    let stream = "\
Aider v0.86.2
Model: gpt-5 with diff edit format

> Warning: this goes for the history alone.
> litellm.RateLimitError: quoted

Tokens: 2.4k sent, 91 received. Cost: $0.01 message, $0.01 session.
";
    let told = aider(stream);
    assert_eq!(told.iter().filter(|line| line.starts_with("usage 2400 91")).count(), 1, "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("fault")), "{told:?}");
}

#[test]
fn the_screen_is_read_too_and_a_programs_output_is_nobodys_words() {
    let stream = "\
Aider v0.86.2
Model: gpt-5 with diff edit format
Repo-map: using 1024 tokens

I will run the tests.

Tokens: 2.4k sent, 8.0k cache hit, 91 received. Cost: $0.0085 message, $0.0085
session.
Running pytest
All tests passed, rate limit exceeded
Tokens: 1 sent, 1 received. Cost: $0.01 message, $0.02 session.
";
    assert_eq!(
        aider(stream),
        [
            "said I will run the tests.",
            "usage 2400 91 8000 0 $0.0085 gpt-5",
            "action shell: pytest",
            "usage 1 1 0 0 $0.0100 gpt-5",
            "result I will run the tests.",
        ]
    );
}

#[rstest]
#[case::overcome(
    "> litellm.RateLimitError: slow down  \n> Retrying in 0.2 seconds...  \n> Tokens: 1 sent, 1 received.  \n",
    &["notice Retrying in 0.2 seconds...", "usage 1 1 0 0"],
    Outcome::Succeeded
)]
#[case::given_up(
    "> litellm.RateLimitError: slow down  \n> Retrying in 0.2 seconds...  \n> litellm.RateLimitError: slow down  \n",
    &["notice Retrying in 0.2 seconds...", "fault RateLimited: litellm.RateLimitError: slow down"],
    Outcome::Failed
)]
#[case::cut_off(
    "> litellm.APIConnectionError: odd  \n> Retrying in 0.2 seconds...  \n",
    &["notice Retrying in 0.2 seconds...", "fault Network: litellm.APIConnectionError: odd"],
    Outcome::CutOff
)]
#[case::hopeless(
    "> litellm.AuthenticationError: no key  \n",
    &["fault Authentication: litellm.AuthenticationError: no key"],
    Outcome::Failed
)]
#[case::context(
    "> Model gpt-5 has hit a token limit!  \n> Input tokens: ~130,000 of 128,000 -- exceeded context window!  \n",
    &["context 130000 of 128000", "fault ContextFull: Model gpt-5 has hit a token limit!"],
    Outcome::Failed
)]
#[case::output(
    "> Model gpt-5 has hit a token limit!  \n> Output tokens: ~4,096 of 4,096 -- exceeded output limit!  \n",
    &["fault OutputLimit: Model gpt-5 has hit a token limit!"],
    Outcome::Failed
)]
fn errors_that_are_tried_again_are_no_failures(
    #[case] lines: &str,
    #[case] expected: &[&str],
    #[case] outcome: Outcome,
) {
    let history = format!("# aider chat started at 2026-07-03 13:15:19\n{lines}");
    let (told, ended) = read(&mut Aider::default(), history.as_bytes(), None);
    assert_eq!(told, expected);
    assert_eq!(ended, outcome);
}

#[test]
fn a_file_with_blocks_of_code_in_it_hides_no_report() {
    let screen = "Aider v0.86.1\nMain model: sample with diff edit format\n\n\
        README.md\n```markdown\n# Use\n```\nmake\n```\n\n\
        Tokens: 2.4k sent, 91 received. Cost: $0.0085 message, $0.0085 session.\n\
        Applied edit to README.md\n\n\
        a.py\n```python\nx = 1\n```\n\n\
        Tokens: 3.0k sent, 50 received. Cost: $0.01 message, $0.0185 session.\n\
        Applied edit to a.py\n";
    let told = aider(screen);
    let count = |what: &str| told.iter().filter(|line| line.starts_with(what)).count();
    assert_eq!((count("usage 2400 91 "), count("usage 3000 50 ")), (1, 1), "{told:?}");
    assert_eq!((count("action edit"), count("said")), (2, 2), "{told:?}");
}

#[test]
fn what_a_block_of_code_quotes_is_the_models() {
    let history = "\n# aider chat started at 2026-02-27 18:03:28\n\n> Aider v0.86.0  \n\n\
        #### fix  \n\n```\n> litellm.AuthenticationError: bad key\n\
        > Tokens: 5k sent, 1k received.\n```\n\n\
        > Tokens: 1.0k sent, 10 received. Cost: $0.01 message, $0.01 session.  \n\n\
        #### more  \n\n```\nleft open\n\n> Tokens: 20 sent, 2 received.  \n";
    let told = aider(history);
    let usage: Vec<_> = told.iter().filter(|line| line.starts_with("usage")).collect();
    assert_eq!(usage.len(), 2, "{told:?}");
    assert!(usage[0].starts_with("usage 1000 10 "), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("fault")), "{told:?}");
}

#[test]
fn what_a_block_of_code_on_the_screen_shows_is_the_models() {
    let screen = "Aider v0.86.1\nModel: gpt-4o\n\n```\nlitellm.RateLimitError: quoted\n\
        Tokens: 9k sent, 9k received. Cost: $9.00 message, $9.00 session.\n```\n\n\
        Tokens: 2.4k sent, 91 received. Cost: $0.0085 message, $0.0085 session.\n";
    let told = aider(screen);
    let usage: Vec<_> = told.iter().filter(|line| line.starts_with("usage")).collect();
    assert_eq!(usage.len(), 1, "{told:?}");
    assert!(usage[0].starts_with("usage 2400 91 "), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("fault")), "{told:?}");
    // An example that holds another block.
    let told = aider(
        "Aider v0.86.1\nModel: gpt-4o\n\nHere is an example:\n```\n\
         Tokens: 1.0k sent, 10 received. Cost: $1.00 message, $1.00 session.\n\
         ```python\nx=1\n```\ndone\n\
         Tokens: 2.4k sent, 91 received. Cost: $0.0085 message, $0.0085 session.\n",
    );
    let usage: Vec<_> = told.iter().filter(|line| line.starts_with("usage")).collect();
    assert!(usage.len() == 1 && usage[0].starts_with("usage 2400 91 "), "{told:?}");
    // Blocks have more than one mark, and words may follow what they show.
    for (opens, closes) in [("~~~", "~~~"), ("~~~text", "~~~"), ("```", "~~~\nx\n~~~\n```")] {
        let told = aider(&format!(
            "Aider v0.86.1\nModel: gpt-4o\n\n{opens}\n\
             Tokens: 9k sent, 9k received. Cost: $9.00 message, $9.00 session.\nx\n{closes}\n\n\
             Tokens: 2.4k sent, 91 received. Cost: $0.0085 message, $0.0085 session.\n"
        ));
        let usage: Vec<_> = told.iter().filter(|line| line.starts_with("usage")).collect();
        assert!(usage.len() == 1 && usage[0].starts_with("usage 2400 91 "), "{opens} {told:?}");
    }
    // An answer that was cut off in the middle of its code.
    let told = aider("Aider v0.86.1\n```\nlet a = 1;\nTokens: 20 sent, 2 received.\n");
    assert!(told.iter().any(|line| line.starts_with("usage 20 2 ")), "{told:?}");
}
