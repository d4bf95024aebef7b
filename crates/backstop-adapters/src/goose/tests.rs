use super::*;
use crate::testing::{read, told};

#[test]
fn a_stream_is_told_whole() {
    let stream = r#"
{"type":"message","message":{"id":"1","role":"assistant","content":[{"type":"text","text":"I wi"}]}}
{"type":"message","message":{"id":"1","role":"assistant","content":[{"type":"text","text":"ll."},{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"ls"}}}}]}}
{"type":"notification","extension_id":"e","message":"busy"}
{"type":"message","message":{"id":"2","role":"user","content":[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":[{"type":"text","text":"a"}]}}]}}
{"type":"message","message":{"id":"3","role":"assistant","content":[{"type":"text","text":"Done."}]}}
{"type":"complete","total_tokens":1234}
"#;
    let (told, outcome) = read(&mut Goose::default(), stream.as_bytes(), None);
    assert_eq!(
        told,
        [
            "notice busy",
            "said I will.",
            "action shell: ls => a",
            "said Done.",
            "usage 1234 0 0 0",
            "result Done.",
            "ended Succeeded",
        ]
    );
    assert_eq!(outcome, Outcome::Succeeded);
}

#[test]
fn one_object_is_read_too() {
    let stream = r#"{"messages":[{"role":"assistant","content":[{"type":"text","text":"Hi."}]}],"metadata":{"total_tokens":null,"status":"completed"}}"#;
    assert_eq!(
        told(&mut Goose::default(), stream),
        ["said Hi.", "message Hi.", "result Hi.", "ended Succeeded"]
    );
}

#[test]
fn an_error_makes_it_fail() {
    let stream = "{\"type\":\"error\",\"error\":\"rate limit exceeded\"}\n{\"type\":\"complete\",\"total_tokens\":5}";
    assert_eq!(
        told(&mut Goose::default(), stream),
        ["fault RateLimited: rate limit exceeded", "usage 5 0 0 0", "ended Failed"]
    );
}

#[test]
fn what_comes_behind_its_last_word_is_another_launch() {
    let launch = |tokens: u32| {
        let lines = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"Hi."}]}}
{"type":"complete","total_tokens":TOKENS}
"#;
        lines.replace("TOKENS", &tokens.to_string())
    };
    for tokens in [100, 60, 160] {
        let told = told(&mut Goose::default(), &format!("{}{}", launch(100), launch(tokens)));
        let alone = |tokens: u32| {
            [
                "said Hi.",
                &format!("usage {tokens} 0 0 0"),
                "message Hi.",
                "result Hi.",
                "ended Succeeded",
            ]
            .map(str::to_owned)
        };
        assert_eq!(told, [&alone(100)[..], &["launched".to_owned()], &alone(tokens)].concat());
    }
}
