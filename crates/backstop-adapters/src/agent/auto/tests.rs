use proptest::prelude::*;

use super::*;
use crate::testing::{FAILED, moment, read, told};

#[test]
fn what_came_before_the_agent_was_known_is_its() {
    let stream = "npm warn deprecated\n{\"odd\":1}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Hi.\"}}\n";
    let mut auto = Auto::new();
    assert_eq!(told(&mut auto, stream), ["said Hi."]);
    assert_eq!(auto.agent(), Some(Agent::Codex));
}

#[test]
fn what_no_agent_claims_is_any_program() {
    let mut auto = Auto::new();
    assert_eq!(told(&mut auto, "rate limit exceeded\n"), Vec::<String>::new());
    assert_eq!(auto.agent(), Some(Agent::Generic));
    assert_eq!(read(&mut Auto::new(), b"x", FAILED), (vec![], Outcome::Failed));
}

#[test]
fn many_records_of_no_agent_are_some_programs() {
    let opens = "{\"type\":\"agent_start\"}\n";
    let goes_on = "{\"type\":\"turn_start\"}\n";
    for (before, late, agent) in [
        (63, goes_on, Agent::Pi),
        (64, goes_on, Agent::Generic),
        (64, opens, Agent::Pi),
        (10_000, opens, Agent::Pi),
        (70, CLAUDE.lines().last().unwrap(), Agent::Claude),
        (70, r#"{"session_id":"s","response":"Hi.","stats":{"models":{}}}"#, Agent::Gemini),
        (70, r#"{"type":"complete","total_tokens":1234}"#, Agent::Goose),
    ] {
        let mut auto = Auto::new();
        told(&mut auto, &format!("{}{late}", "{\"odd\":1}\n".repeat(before)));
        assert_eq!(auto.agent(), Some(agent), "{before} {late}");
    }
}

#[test]
fn much_may_be_said_before_an_agent_is_started() {
    let late = "{\"type\":\"agent_start\"}\n";
    let long = format!("{}\n", "x".repeat(MOST_HELD_BYTES + 1));
    for before in ["line\n".repeat(10_000), long.clone(), format!("line\n{long}line\n")] {
        let mut auto = Auto::new();
        told(&mut auto, &format!("{before}{late}"));
        assert_eq!(auto.agent(), Some(Agent::Pi));
    }
    let mut auto = Auto::new();
    for _ in 0..10_000 {
        auto.error_line("a warning", &moment(), &mut |_: Heard<'_>| {});
        assert!(auto.held.len() <= MOST_HELD && auto.held_bytes <= MOST_HELD_BYTES);
    }
    assert_eq!(auto.agent(), None);
}

const CLAUDE: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"opus","tools":[]}
{"type":"assistant","session_id":"s","message":{"id":"m","model":"opus","content":[{"type":"text","text":"Read it."}],"usage":{"input_tokens":7,"output_tokens":2}}}
{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Read it.","session_id":"s","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":2}}
"#;
/// As builds print it that do not say where their key comes from.
const CURSOR: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}
{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"text","text":"Go."}]}}
{"type":"assistant","session_id":"s","message":{"role":"assistant","content":[{"type":"text","text":"I read."}]}}
{"type":"tool_call","subtype":"started","session_id":"s","call_id":"c","tool_call":{"readToolCall":{"args":{"path":"a"}}}}
{"type":"tool_call","subtype":"completed","session_id":"s","call_id":"c","tool_call":{"readToolCall":{"args":{"path":"a"},"result":{"success":{"content":"x"}}}}}
{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s","request_id":"r","usage":{"inputTokens":7,"outputTokens":2}}
"#;
const CODEX: &str = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":30,"cached_input_tokens":0,"output_tokens":5}}
"#;
const GEMINI: &str = r#"{"type":"init","timestamp":"2026-01-15T10:00:00Z","session_id":"g","model":"m"}
{"type":"message","role":"assistant","content":"Looked.","delta":true,"timestamp":"2026-01-15T10:00:01Z"}
{"type":"result","status":"success","stats":{"total_tokens":11,"input_tokens":9,"output_tokens":2},"timestamp":"2026-01-15T10:00:02Z"}
"#;
const OPENCODE: &str = r#"{"type":"step_start","timestamp":1,"sessionID":"o","part":{"type":"step-start"}}
{"type":"text","timestamp":2,"sessionID":"o","part":{"type":"text","text":"Opened."}}
{"type":"step_finish","timestamp":3,"sessionID":"o","part":{"type":"step-finish","reason":"stop","cost":0.25,"tokens":{"input":10,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}}
"#;

#[test]
fn every_agent_that_a_command_starts_is_read_as_if_it_were_alone() {
    let all = [CLAUDE, CURSOR, CODEX, GEMINI, OPENCODE];
    let alone = |stream: &str| {
        let mut told = told(&mut Auto::new(), stream);
        // Not every agent tells its own end, but the next one shows it.
        told.retain(|line| line != "launched" && !line.starts_with("ended"));
        told
    };
    for first in all {
        for second in all.into_iter().filter(|second| *second != first) {
            for between in ["", "--- now the tests\n3 passed\n"] {
                let both = alone(&format!("{first}{between}{second}"));
                assert_eq!(both, [alone(first), alone(second)].concat(), "{first}{second}");
            }
        }
    }
}

#[test]
fn one_that_opens_as_another_does_is_known_by_its_calls() {
    let told_by_all = [
        "said I read.",
        "action read: {\"path\":\"a\"} => {\"content\":\"x\"}",
        "usage 7 2 0 0 m",
        "result Done.",
        "ended Succeeded",
    ];
    for mut auto in
        [Auto::new(), Auto::beginning_with(Agent::Claude), Auto::alone_with(Agent::Cursor)]
    {
        let mut told = told(&mut auto, CURSOR);
        told.retain(|line| !line.starts_with("notice"));
        assert_eq!(told, told_by_all);
        assert_eq!(auto.agent(), Some(Agent::Cursor));
    }
    // Another session is another launch.
    let twice = format!("{CURSOR}{}", CURSOR.replace(r#""session_id":"s""#, r#""session_id":"t""#));
    let (told, _) = read(&mut Auto::new(), twice.as_bytes(), None);
    let count = |wanted: &str| told.iter().filter(|line| *line == wanted).count();
    assert_eq!((count("launched"), count("ended Succeeded"), count("usage 7 2 0 0 m")), (1, 2, 2));
    // What tells Claude's for certain is never another's.
    let call = CURSOR.lines().nth(4).unwrap();
    let opening = CLAUDE.lines().next().unwrap();
    let mut auto = Auto::new();
    self::told(&mut auto, &format!("{opening}\n{call}\n"));
    assert_eq!(auto.agent(), Some(Agent::Claude));
}

#[test]
fn the_last_launch_says_how_it_ended() {
    let failed = r#"{"type":"turn.failed","error":{"message":"no"}}"#;
    let started = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n";
    let outcome = |stream: &str| read(&mut Auto::new(), stream.as_bytes(), None).1;
    assert_eq!(outcome(&format!("{started}{failed}\n{CLAUDE}")), Outcome::Succeeded);
    assert_eq!(outcome(&format!("{CLAUDE}{started}{failed}\n")), Outcome::Failed);
    assert_eq!(outcome(&format!("{CLAUDE}{}", CODEX.lines().next().unwrap())), Outcome::CutOff);
}

#[test]
fn an_agent_that_was_cut_off_is_followed_too() {
    let cut = CLAUDE.lines().next().unwrap();
    let mut auto = Auto::new();
    let told = told(&mut auto, &format!("{cut}\n{CODEX}"));
    assert!(told.contains(&"said Done.".to_owned()), "{told:?}");
    assert_eq!(auto.agent(), Some(Agent::Codex));
}

#[test]
fn one_that_begins_in_the_line_that_another_left_is_followed() {
    let (first, rest) = CLAUDE.split_once('\n').unwrap();
    let message = rest.lines().next().unwrap();
    let (_, more) = CODEX.split_once('\n').unwrap();
    let opening = CODEX.lines().next().unwrap();
    for cut in [message.find("it.").unwrap(), message.len() - 1] {
        let mut auto = Auto::new();
        let stream = format!("{first}\n{}{opening}\n{more}", &message[..cut]);
        let told = told(&mut auto, &stream);
        assert_eq!(auto.agent(), Some(Agent::Codex), "{stream}");
        assert!(told.contains(&"said Done.".to_owned()), "{told:?}");
        assert!(told.contains(&"usage 30 5 0 0".to_owned()), "{told:?}");
    }
}

#[test]
fn who_answers_in_words_may_show_the_records_of_others() {
    let records: Vec<&str> = CODEX.lines().collect();
    for shown in [
        records[2].to_owned(),
        records[1..].join("\n"),
        records[0].to_owned(),
        format!("```\n{CODEX}```"),
        r#"{"type":"build","status":"ok"}"#.to_owned(),
    ] {
        let answer = format!("It prints this:\n{shown}\nThat is all.\n");
        for agent in [Agent::Claude, Agent::Gemini, Agent::OpenCode] {
            let mut auto = Auto::beginning_with(agent);
            let (told, outcome) = read(&mut auto, answer.as_bytes(), Some(SUCCEEDED));
            assert!(!told.contains(&"said Done.".to_owned()), "{agent} {told:?}");
            // What comes behind it is still said by the same.
            let result = told.iter().find(|line| line.starts_with("result")).unwrap();
            assert!(result.contains("It prints this:"), "{agent} {result:?}");
            assert!(result.contains("That is all."), "{agent} {result:?}");
            assert_eq!(outcome, Outcome::Succeeded, "{agent} {shown}");
        }
    }
}

const SUCCEEDED: Exit = Exit { code: Some(0), signal: None };

#[test]
fn an_agent_that_starts_behind_anothers_words_is_followed() {
    for (first, second) in [(Agent::Claude, CODEX), (Agent::Codex, CLAUDE), (Agent::Gemini, CODEX)]
    {
        let mut auto = Auto::beginning_with(first);
        let both = format!("I have read it.\n{second}");
        let (told, outcome) = read(&mut auto, both.as_bytes(), Some(SUCCEEDED));
        assert!(told.contains(&"result I have read it.".to_owned()), "{first} {told:?}");
        assert!(told.iter().any(|line| line.starts_with("usage")), "{first} {told:?}");
        assert_eq!(outcome, Outcome::Succeeded, "{first}");
    }
}

#[test]
fn records_of_its_own_in_a_block_of_code_are_only_shown() {
    let failed = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":9,"session_id":"s","total_cost_usd":1.0}"#;
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for (agent, records) in [
        (Agent::Claude, CLAUDE.trim_end()),
        (Agent::Claude, failed),
        (Agent::Claude, error),
        (Agent::Codex, CODEX.trim_end()),
        (Agent::Gemini, GEMINI.trim_end()),
        (Agent::OpenCode, OPENCODE.trim_end()),
    ] {
        for (opens, closes) in [("```json", "```"), ("````", "````"), ("  ~~~", "  ~~~")] {
            let answer = format!("It printed:\n{opens}\n{records}\n{closes}\nThat is all.\n");
            for mut adapter in [agent.adapter(), Box::new(Auto::beginning_with(agent))] {
                let (told, outcome) = read(adapter.as_mut(), answer.as_bytes(), Some(SUCCEEDED));
                let [result] = &told[..] else { panic!("{agent} {told:?}") };
                assert!(result.starts_with("result It printed:"), "{agent} {result:?}");
                assert!(result.ends_with("That is all."), "{agent} {result:?}");
                assert_eq!(outcome, Outcome::Succeeded, "{agent} {records}");
            }
        }
    }
}

#[test]
fn a_block_of_code_that_is_never_closed_hides_no_records() {
    let many = CLAUDE.repeat(MOST_HELD);
    for records in [CLAUDE, &many] {
        let heard = |mut auto: Auto, stream: &str| {
            let (mut told, outcome) = read(&mut auto, stream.as_bytes(), Some(SUCCEEDED));
            // People have seen all of it already.
            told.retain(|line| !line.starts_with("notice"));
            (told, outcome)
        };
        let behind = format!("the notes:\n```\n{records}");
        let heard_behind = heard(Auto::beginning_with(Agent::Claude), &behind);
        assert_eq!(heard_behind, heard(Auto::new(), records));
    }
}

#[test]
fn an_answer_may_be_a_list() {
    for agent in [Agent::Claude, Agent::Codex] {
        let mut auto = Auto::alone_with(agent);
        let list = "[\n  \"a.rs\",\n  \"b.rs\"\n]";
        let (told, outcome) = read(&mut auto, format!("{list}\n").as_bytes(), Some(SUCCEEDED));
        assert_eq!((told, outcome), (vec![format!("result {list}")], Outcome::Succeeded));
    }
}

#[test]
fn what_a_script_prints_around_an_agent_does_not_hide_its_records() {
    let result = CLAUDE.lines().last().unwrap();
    let heard = |mut auto: Auto, stream: &str| {
        let (told, outcome) = read(&mut auto, stream.as_bytes(), Some(SUCCEEDED));
        (told.into_iter().filter(|line| line != "launched").collect::<Vec<_>>(), outcome)
    };
    let alone = heard(Auto::beginning_with(Agent::Claude), result);
    assert!(alone.0[0].starts_with("usage"), "{alone:?}");
    for (above, below) in [
        ("~~~~ run ~~~~", "~~~~~~~~"),
        ("~~~~~~~~", "~~~~~~~~"),
        ("```", "```"),
        ("~~~~~~~~", "~~~~ end ~~~~"),
        ("```", ""),
    ] {
        let around = format!("{above}\n\n{result}\n{below}\n");
        assert_eq!(heard(Auto::beginning_with(Agent::Claude), &around), alone, "{around}");
        // Where they are asked for, it does not matter what else is said.
        let auto = Auto::beginning_with(Agent::Claude).asked_for_records(true);
        let amid = format!("starting\n{around}done\n");
        assert_eq!(heard(auto, &amid), alone, "{amid}");
    }
    // Words tell that it is shown, before it or behind.
    for shown in
        [format!("It printed\n```\n{result}\n```\n"), format!("```\n{result}\n```\nThat.\n")]
    {
        let (told, outcome) = heard(Auto::beginning_with(Agent::Claude), &shown);
        assert!(told.iter().all(|line| line.starts_with("result")), "{told:?}");
        assert_eq!((told.len(), outcome), (1, Outcome::Succeeded), "{shown}");
    }
}

#[test]
fn behind_a_block_of_code_that_was_none_others_are_followed() {
    let many = CLAUDE.repeat(MOST_HELD);
    let mut auto = Auto::beginning_with(Agent::Claude);
    let told = told(&mut auto, &format!("the notes:\n```\n{many}{CODEX}"));
    assert_eq!(auto.agent(), Some(Agent::Codex));
    assert!(told.contains(&"said Done.".to_owned()));
}

#[test]
fn an_agent_is_followed_behind_a_text_without_an_end() {
    let aider = "Aider v0.86.2\nMain model: m with diff edit format\nCommit 591894f docs: more\n";
    let codex = "OpenAI Codex v0.60.1 (research preview)\n--------\nmodel: gpt-5\n--------\nuser\n\
        look\ncodex\nI will.\n";
    let (first, rest) = CLAUDE.split_once('\n').unwrap();
    let more = rest.lines().next().unwrap();
    for begins in [aider, codex] {
        let mut auto = Auto::new();
        let stream = format!("{begins}{first}\n{more}\n{more}\n{rest}");
        let (told, outcome) = read(&mut auto, stream.as_bytes(), Some(SUCCEEDED));
        assert_eq!((auto.agent(), outcome), (Some(Agent::Claude), Outcome::Succeeded), "{told:?}");
        assert!(told.contains(&"usage 7 2 0 0 $0.5000".to_owned()), "{told:?}");
        assert!(!told.iter().any(|line| line.contains("\"type\"")), "{told:?}");
        // Nothing follows a short one either.
        let mut auto = Auto::new();
        let told = self::told(&mut auto, &format!("{begins}{CLAUDE}"));
        assert!(told.contains(&"usage 7 2 0 0 $0.5000".to_owned()), "{told:?}");
        // What it says in between shows that it goes on, and that they are shown.
        let mut auto = Auto::new();
        let stream = format!("{begins}{first}\n{more}\n{more}\nand then\n{rest}");
        assert!(!self::told(&mut auto, &stream).iter().any(|line| line.starts_with("usage")));
    }
}

#[test]
fn nobody_follows_one_that_is_alone() {
    for (agent, others) in [(Agent::Codex, CLAUDE), (Agent::Claude, CODEX), (Agent::Aider, CLAUDE)]
    {
        let mut auto = Auto::alone_with(agent);
        let answer = format!("This is the file:\n{others}");
        let (told, outcome) = read(&mut auto, answer.as_bytes(), Some(SUCCEEDED));
        assert!(!told.iter().any(|line| line.starts_with("usage")), "{agent} {told:?}");
        assert_eq!((auto.agent(), outcome), (Some(agent), Outcome::Succeeded));
    }
}

#[test]
fn a_program_that_is_only_called_like_an_agent_may_start_another() {
    let mut auto = Auto::alone_with(Agent::Claude);
    let (told, _) = read(&mut auto, format!("\n{CODEX}").as_bytes(), Some(SUCCEEDED));
    assert_eq!(auto.agent(), Some(Agent::Codex));
    assert!(told.iter().any(|line| line.starts_with("usage")), "{told:?}");
}

#[test]
fn what_one_that_is_alone_introduces_is_only_shown() {
    let result = CLAUDE.lines().last().unwrap();
    for (agent, records) in
        [(Agent::Claude, CLAUDE), (Agent::Claude, result), (Agent::Codex, CODEX)]
    {
        for answer in [
            format!("It has these lines:\n\n{records}\nThat is all.\n"),
            format!("First:\n{records}\nand then:\n{records}\nThat is all.\n"),
        ] {
            let mut auto = Auto::alone_with(agent);
            let (told, outcome) = read(&mut auto, answer.as_bytes(), Some(SUCCEEDED));
            let [said] = &told[..] else { panic!("{agent} {told:?}") };
            assert!(said.starts_with("result ") && said.ends_with("That is all."), "{said}");
            assert_eq!(outcome, Outcome::Succeeded);
        }
    }
    let mut auto = Auto::alone_with(Agent::Claude);
    let last = format!("It ends with:\n{result}\n");
    let (told, _) = read(&mut auto, last.as_bytes(), Some(SUCCEEDED));
    assert_eq!(told, ["result It ends with:"]);
    // What is its own is the last that it prints, or goes on for long.
    for records in [CLAUDE, &CLAUDE.repeat(MOST_HELD)] {
        let mut auto = Auto::alone_with(Agent::Claude);
        let (told, _) = read(&mut auto, format!("warming up:\n{records}").as_bytes(), None);
        let usages = |told: &[String]| told.iter().filter(|line| line.starts_with("usage")).count();
        assert_eq!(usages(&told), usages(&crate::testing::told(&mut Auto::new(), records)));
    }
}

#[test]
fn nothing_is_only_shown_by_one_that_is_asked_for_records() {
    let output = format!("reading the settings:\n{CLAUDE}\nGood bye.\n");
    let mut auto = Auto::alone_with(Agent::Claude).asked_for_records(true);
    let (told, _) = read(&mut auto, output.as_bytes(), Some(SUCCEEDED));
    assert!(told.iter().any(|line| line.starts_with("usage")), "{told:?}");
}

#[test]
fn what_is_printed_amid_the_text_of_one_is_no_other_agents() {
    let codex = "OpenAI Codex v0.60.1 (research preview)\n--------\nmodel: gpt-5\n--------\nuser\n\
        look\nexec\nbash -lc \"cat a.jsonl\" in /x succeeded in 10ms:\n";
    let dated = "[2025-08-31T12:37:08] OpenAI Codex v0.27.0 (research preview)\n--------\n\
        [2025-08-31T12:37:09] exec cat a.jsonl in /x\n\
        [2025-08-31T12:37:10] cat a.jsonl succeeded in 1ms:\n";
    let aider = "Aider v0.86.2\nMain model: m with diff edit format\n\nHere is the file:\n\n";
    let history =
        "# aider chat started at 2026-08-07 10:00:00\n\n> Aider v0.86.2  \n\n#### look\n\n";
    let spent = "Tokens: 2.4k sent, 91 received. Cost: $0.25 message, $0.25 session.";
    for (begins, ends, usage) in [
        (codex, "codex\nIt is a stream.\ntokens used\n1,234\n", "usage 1234 0 0 0"),
        (dated, "[2025-08-31T12:37:11] tokens used: 1234\n", "usage 1234 0 0 0"),
        (aider, &format!("\n{spent}\n"), "usage 2400 91 0 0 $0.2500"),
        (history, &format!("\n> {spent}  \n"), "usage 2400 91 0 0 $0.2500"),
    ] {
        let shown = told(&mut Auto::new(), &format!("{begins}{CLAUDE}{ends}"));
        let usages: Vec<_> = shown.iter().filter(|line| line.starts_with("usage")).collect();
        assert_eq!(usages.len(), 1, "{shown:?}");
        assert!(usages[0].starts_with(usage), "{shown:?}");
        // Once it has told what it used, another one may have begun.
        let followed = told(&mut Auto::new(), &format!("{begins}{ends}{CLAUDE}"));
        assert!(followed.contains(&"usage 7 2 0 0 $0.5000".to_owned()), "{followed:?}");
    }
}

#[test]
fn words_between_the_first_records_of_another_do_not_hide_it() {
    let (opening, rest) = CODEX.split_once('\n').unwrap();
    let mut auto = Auto::beginning_with(Agent::Claude);
    let both = format!("I have read it.\n{opening}\nwarning: slow\n{rest}");
    let (told, _) = read(&mut auto, both.as_bytes(), Some(SUCCEEDED));
    assert_eq!(auto.agent(), Some(Agent::Codex));
    assert!(told.contains(&"said Done.".to_owned()), "{told:?}");
}

#[test]
fn a_stray_line_in_the_middle_of_records_is_no_other_agent() {
    let (first, rest) = CLAUDE.split_once('\n').unwrap();
    let alone = told(&mut Auto::new(), CLAUDE);
    for stray in [
        "OpenAI Codex v0.46.0 (research preview)",
        "Aider v0.86.1",
        "> Aider v0.86.1",
        "# aider chat started at 2026-07-03 13:15:19",
    ] {
        let mut auto = Auto::new();
        assert_eq!(told(&mut auto, &format!("{first}\n{stray}\n{rest}")), alone, "{stray}");
        assert_eq!(auto.agent(), Some(Agent::Claude), "{stray}");
    }
}

#[test]
fn a_whole_answer_is_counted_behind_one_that_does_not_tell_its_end() {
    let result = CLAUDE.lines().last().unwrap();
    let cut = CODEX.lines().take(2).collect::<Vec<_>>().join("\n");
    for before in [OPENCODE.trim_end(), &cut] {
        let mut auto = Auto::new();
        let told = told(&mut auto, &format!("{before}\n{result}\n"));
        assert!(told.contains(&"usage 7 2 0 0 $0.5000".to_owned()), "{told:?}");
        assert_eq!(auto.agent(), Some(Agent::Claude));
    }
    let goose = r#"{"type":"message","message":{"id":"1","role":"assistant","created":1,"content":[{"type":"text","text":"Hi."}]}}
{"type":"complete","total_tokens":1234}
"#;
    for before in [CLAUDE, OPENCODE] {
        let mut auto = Auto::new();
        let told = told(&mut auto, &format!("{before}{goose}"));
        assert_eq!(auto.agent(), Some(Agent::Goose), "{told:?}");
        assert!(told.contains(&"said Hi.".to_owned()), "{told:?}");
    }
}

#[test]
fn an_opening_may_be_long() {
    let tools = vec!["\"mcp__server__tool_of_many\""; 10_000].join(",");
    let claude = CLAUDE.replace("\"tools\":[]", &format!("\"tools\":[{tools}]"));
    let told = told(&mut Auto::new(), &format!("{CODEX}{claude}"));
    assert!(told.contains(&"said Read it.".to_owned()), "{told:?}");
}

#[test]
fn what_a_script_prints_after_its_agent_is_no_agents() {
    for printed in [
        r#"{"type":"message","role":"user","content":"an export","timestamp":"2026-01-01T00:00:00Z"}"#,
        r#"{"messages":[{"id":"greeting","text":"hi"}],"metadata":{"locale":"en"}}"#,
        r#"{"type":"turn.failed","error":{"message":"no"}}"#,
        r#"{"error":{"type":"ApiError","message":"no"}}"#,
        r#"{"ok":true}"#,
    ] {
        let mut auto = Auto::new();
        let (_, outcome) = read(&mut auto, format!("{CLAUDE}{printed}\n").as_bytes(), None);
        assert_eq!((auto.agent(), outcome), (Some(Agent::Claude), Outcome::Succeeded), "{printed}");
    }
    let gemini = r#"{"session_id":"s","response":"Hi.","stats":{"models":{}}}"#;
    let goose = r#"{"messages":[{"role":"assistant","content":[{"type":"text","text":"Hi."}]}],"metadata":{"total_tokens":5}}"#;
    for (answer, agent) in [(gemini, Agent::Gemini), (goose, Agent::Goose)] {
        let mut auto = Auto::new();
        let told = told(&mut auto, &format!("{CLAUDE}{answer}\n"));
        assert_eq!(auto.agent(), Some(agent));
        assert!(told.contains(&"result Hi.".to_owned()), "{told:?}");
    }
}

#[test]
fn an_agent_without_records_is_followed_behind_one_with_them() {
    let aider = "Aider v0.86.1\nMain model: sample with diff edit format\n\
        Tokens: 2.4k sent, 91 received. Cost: $0.25 message, $0.25 session.\n";
    let mut auto = Auto::new();
    let told = told(&mut auto, &format!("{CLAUDE}{aider}"));
    assert!(told.contains(&"usage 2400 91 0 0 $0.2500 sample".to_owned()), "{told:?}");
    assert_eq!(auto.agent(), Some(Agent::Aider));
}

#[test]
fn totals_outlive_an_agent_that_tells_none() {
    let mut auto = Auto::new();
    read(&mut auto, format!("{CODEX}{CLAUDE}").as_bytes(), None);
    let totals = auto.totals().expect("Codex told totals");
    let mut next = Auto::new();
    next.go_on_from(totals);
    let more = CODEX.replace(":30", ":40").replace(":5", ":6");
    let (told, _) = read(&mut next, format!("{CLAUDE}{more}").as_bytes(), None);
    assert!(told.contains(&"usage 10 1 0 0".to_owned()), "{told:?}");
}

/// Records of every agent, to be cut, mixed and mutilated.
const RECORDS: &[&str] = &[
    r#"{"type":"thread.started","thread_id":"t"}"#,
    r#"{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"ls","aggregated_output":"x","exit_code":1,"status":"failed"}}"#,
    r#"{"type":"turn.completed","usage":{"input_tokens":18446744073709551615,"cached_input_tokens":2,"output_tokens":3}}"#,
    r#"{"timestamp":"2026-02-23T19:34:28Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":10},"last_token_usage":{"total_tokens":12},"model_context_window":100},"rate_limits":{"primary":{"used_percent":50,"window_minutes":300,"resets_in_seconds":18446744073709551615}}}}"#,
    r#"{"type":"init","timestamp":"2026-01-15T10:00:00Z","session_id":"s","model":"m"}"#,
    r#"{"type":"result","status":"success","stats":{"total_tokens":1,"input_tokens":100,"output_tokens":50,"cached":140}}"#,
    r#"{"sessionId":"s","projectHash":"p","messages":[{"id":"1","type":"gemini","content":"x","tokens":{"input":1,"cached":9}}]}"#,
    r#"{"type":"step_finish","timestamp":-1,"sessionID":"s","part":{"reason":"stop","cost":-1,"tokens":{"input":1e300}}}"#,
    r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"x","statusCode":70000,"responseHeaders":{"retry-after":"1e300"}}}}"#,
    r#"{"type":"message_end","message":{"role":"assistant","content":[],"usage":{"input":3},"stopReason":"error"}}"#,
    r#"{"type":"message","message":{"id":"1","role":"assistant","content":[{"type":"toolRequest"}]}}"#,
    r#"{"type":"tool_call","call_id":"c","tool_call":{"shellToolCall":{"args":[]}}}"#,
    "# aider chat started at 2026-07-03 13:15:19",
    "> Tokens: 99999999999999999999k sent, 1.2.3 received. Cost: $1e9 message, $. session.",
    "> Tokens: 2.4k sent, 91 received.",
    "Cost: $0.0085 message, $0.0085 session.",
    "> litellm.RateLimitError: x",
    "[2025-08-31T12:37:08] OpenAI Codex v0.27.0",
    "[2025-08-31T12:37:33] bash exited 99999999999999999999 in 1ms:",
    "[2025-08-31T12:37:36] tokens used: 99999999999999999999999",
];

fn all() -> Vec<Box<dyn Adapter>> {
    let mut all: Vec<Box<dyn Adapter>> = Agent::ALL.into_iter().map(Agent::adapter).collect();
    all.push(Box::new(Auto::new()));
    all
}

proptest! {
    #[test]
    fn nothing_panics_on_mutilated_records(
        records in proptest::collection::vec(
            (proptest::sample::select(RECORDS), any::<proptest::sample::Index>(), any::<Option<u8>>()),
            0..12,
        ),
        exit in proptest::option::of((proptest::option::of(any::<i32>()), proptest::option::of(1..64))),
    ) {
        let mut stream = Vec::new();
        for (record, at, byte) in records {
            let mut record = record.as_bytes().to_vec();
            let at = at.index(record.len());
            match byte {
                // One byte is another, or the rest is missing, or all is as it was.
                Some(byte @ 1..) => record[at] = byte,
                Some(0) => record.truncate(at),
                None => {}
            }
            stream.extend(record);
            stream.push(b'\n');
        }
        let exit = exit.map(|(code, signal)| Exit { code, signal });
        for mut adapter in all() {
            read(adapter.as_mut(), &stream, exit);
        }
    }

    #[test]
    fn nothing_panics_on_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for mut adapter in all() {
            adapter.error_line(&String::from_utf8_lossy(&bytes), &moment(), &mut |_: Heard<'_>| {});
            adapter.record(Record::Json(&bytes), &moment(), &mut |_: Heard<'_>| {});
            read(adapter.as_mut(), &bytes, None);
        }
    }
}
