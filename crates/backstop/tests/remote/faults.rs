//! Servers that refuse, are not there, or are something else; and flags that do not go together.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::elsewhere::Elsewhere;
use crate::support::looping::Loop;

#[test]
fn a_token_is_read_from_the_environment_and_must_fit() {
    let test = Elsewhere::new(Loop::new());
    let run = test.begun(&[]);
    let (reads, operates) = (test.token("read"), test.token("operate"));
    test.ask(&["ls"]).refused(77, &["needs a token", "`read`", "BACKSTOP_TOKEN"]);
    test.ask(&["stop", &run]).refused(77, &["`operate`", "BACKSTOP_TOKEN"]);
    let wrong = format!("bks_{}", "0".repeat(64));
    test.ask_with(&wrong, &["ls"]).refused(77, &["unknown, expired or revoked", "BACKSTOP_TOKEN"]);
    test.ask_with(&reads, &["ls"]).exits(0);
    test.ask_with(&reads, &["stop", &run]).refused(77, &["`operate`"]);
    test.ask_with(&operates, &["ls"]).refused(77, &["`read`"]);
    test.ask_with(&operates, &["stop", &run]).exits(0);
    test.ask_with("no token\n", &["ls"]).refused(64, &["BACKSTOP_TOKEN"]);
}

#[test]
fn a_token_does_not_travel_in_the_open() {
    let test = Loop::new().variable("BACKSTOP_TOKEN", "bks_secret");
    let ended = test.run(["--server", "http://192.0.2.1:7878", "ls"]);
    ended.refused(64, &["in the open", "https"]);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
}

#[test]
fn a_server_that_is_not_there_is_an_input_output_error() {
    let test = Loop::new();
    // A port that nobody can have got meanwhile.
    let url = "http://127.0.0.1:1".to_owned();
    for command in
        [&["ls"][..], &["show"], &["stop", "latest"], &["check", "--now", "2026-05-04T10:00:00Z"]]
    {
        let ended = test.run([&["--server", &url], command].concat());
        assert_eq!(ended.code, Some(74), "{command:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
        assert!(
            ended.stderr.contains(&url) && ended.stderr.contains("backstop serve"),
            "{}",
            ended.stderr
        );
    }
    let emit = ["--server", &url, "emit", "--run", "latest", "drift", "--score", "0"];
    test.run(emit).refused(74, &["can't be asked"]);
}

/// Answers every connection with the same bytes, and tells what it was asked.
fn impostor(answers: Vec<&'static str>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            let (mut request, mut chunk) = (Vec::new(), [0; 4096]);
            // The whole head, and a body that is one write with it or follows at once.
            while !is_whole(&request) {
                match stream.read(&mut chunk).expect("it asks") {
                    0 => break,
                    length => request.extend_from_slice(&chunk[..length]),
                }
            }
            asked.push(String::from_utf8_lossy(&request).into_owned());
            let _ = stream.write_all(answer.as_bytes());
        }
        asked
    });
    (url, asked)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let length = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    body.len() >= length
}

#[test]
fn what_is_no_server_of_ours_is_told_from_one() {
    for (answer, words) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "can't be understood"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", "can't be understood"),
        (
            "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope",
            "no answer of `backstop serve`",
        ),
        ("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", "it answered 502"),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n",
            "leads elsewhere",
        ),
        (
            "HTTP/1.1 503 Busy\r\ncontent-length: 65\r\n\r\n\
             {\"code\":\"BUSY\",\"detail\":\"ask \\u001b[31magain\\u202e\",\"status\":503}",
            "can't do it now",
        ),
    ] {
        let (url, asked) = impostor(vec![answer]);
        let ended = Loop::new().run(["--server", &url, "ls"]);
        ended.refused(74, &[words]);
        assert!(!ended.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", ended.stderr);
        asked.join().expect("it was asked");
    }
}

#[test]
fn an_answer_that_is_no_decision_never_lets_a_loop_go_on() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]",
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull",
    ] {
        let (url, _) = impostor(vec![answer]);
        let emit = ["--server", &url, "emit", "--run", "4K7Q", "drift", "--score", "0"];
        Loop::new().run(emit).refused(74, &[]);
        let (url, _) = impostor(vec![answer]);
        Loop::new()
            .run(["--server", &url, "check", "--now", "2026-05-04T10:00:00Z"])
            .refused(74, &[]);
    }
}

#[test]
fn a_lost_connection_is_tried_once_more_by_the_same_key() {
    let decision = "HTTP/1.1 200 OK\r\ncontent-length: 45\r\n\r\n\
                    {\"verdict\":\"continue\",\"message\":\"\",\"exit_code\":0}";
    let decision =
        decision.replace("45", &decision.split("\r\n\r\n").nth(1).map_or(0, str::len).to_string());
    let (url, asked) = impostor(vec!["", Box::leak(decision.into_boxed_str())]);
    let emit = ["--server", &url, "emit", "--run", "4K7Q", "drift", "--score", "0"];
    Loop::new().run(emit).exits(0);
    let asked = asked.join().expect("it was asked");
    let key = |request: &String| {
        let head = request.to_lowercase();
        let key = head.split("idempotency-key: ").nth(1).and_then(|rest| rest.lines().next());
        key.map(str::to_owned).expect("a key")
    };
    assert_eq!(key(&asked[0]), key(&asked[1]));
    // What is lost twice is lost.
    let (url, asked) = impostor(vec!["", ""]);
    let emit = ["--server", &url, "emit", "--run", "4K7Q", "drift", "--score", "0"];
    Loop::new().run(emit).refused(74, &["can't be asked"]);
    assert_eq!(asked.join().expect("it was asked").len(), 2);
    // What has no key is said once.
    let (url, asked) = impostor(vec![""]);
    Loop::new().run(["--server", &url, "stop", "4K7Q"]).refused(74, &["can't be asked"]);
    assert_eq!(asked.join().expect("it was asked").len(), 1);
}

#[test]
fn what_works_here_only_refuses_the_flag_and_not_the_variable() {
    let test = Loop::new().variable("BACKSTOP_SERVER", "http://127.0.0.1:1");
    test.run(["policy", "check", "preset:default"]).exits(0);
    test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    test.run(["reasons"]).exits(0);
    test.run(["ls"]).refused(74, &["http://127.0.0.1:1"]);
    for command in
        [&["policy", "check"][..], &["run", "--", "true"], &["audit", "verify"], &["logs"]]
    {
        let flag = ["--server", "http://127.0.0.1:1"];
        let ended = test.run([&command[..1], &flag, &command[1..]].concat());
        ended.refused(64, &["on this machine only", "check, begin, emit"]);
    }
    let test = Loop::new().variable("BACKSTOP_SERVER", "");
    test.run(["ls"]).exits(0);
}

#[test]
fn what_works_here_only_says_of_which_store_it_tells() {
    let test = Loop::new().variable("BACKSTOP_SERVER", "http://127.0.0.1:1");
    let own = test.state_directory().display().to_string();
    for command in [
        &["audit", "verify"][..],
        &["token", "ls"],
        &["policy", "history"],
        &["prune", "--dry-run"],
    ] {
        let ended = test.run(command).exits(0);
        assert!(ended.stderr.contains(&own), "{command:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("BACKSTOP_SERVER"), "{command:?}: {}", ended.stderr);
        let named = test.run([command, &["--store", &own]].concat()).exits(0);
        assert!(!named.stderr.contains("BACKSTOP_SERVER"), "{command:?}: {}", named.stderr);
    }
    // Who may ask, and what is in force, is not changed where nobody asks.
    let create = ["token", "create", "--scope", "read"];
    let activate = ["policy", "activate", "preset:default"];
    for command in [&create[..], &activate, &["token", "revoke", "4f1c22"]] {
        test.run(command).refused(64, &["BACKSTOP_SERVER", &own, "--store"]);
    }
    assert_eq!(test.run(["token", "ls", "--json"]).exits(0).stdout, "");
    test.run([&activate[..], &["--store", &own]].concat()).exits(0);
    let named = test.variable("BACKSTOP_STORE", &own).run(create).exits(0);
    assert!(named.stderr.contains(&own), "{}", named.stderr);
}

#[test]
fn the_flag_is_in_the_help_of_those_who_take_it() {
    let test = Loop::new();
    for (command, takes) in [
        (&["ls"][..], true),
        (&["audit", "show"], true),
        (&["check"], true),
        (&["audit", "verify"], false),
        (&["token"], false),
        (&["token", "create"], false),
        (&["policy", "activate"], false),
        (&["run"], false),
    ] {
        let help = test.run([command, &["--help"]].concat()).exits(0).stdout;
        assert_eq!(help.contains("BACKSTOP_SERVER]"), takes, "{command:?}: {help}");
        assert_eq!(help.contains("--server <URL>"), takes, "{command:?}: {help}");
    }
}

#[test]
fn a_store_and_a_server_are_two_places() {
    let test = Elsewhere::new(Loop::new());
    test.begun(&[]);
    test.ask(&["ls", "--store", "here"]).refused(64, &["--server", "--store", "two places"]);
    let emit = ["emit", "--run", "latest", "drift", "--score", "0", "--store", "here"];
    test.ask(&emit).refused(64, &["two places"]);
    // A flag stands above a variable, whichever it is.
    for _ in 0..2 {
        test.here.run(["begin", "--store", "here"]).exits(0);
    }
    let mut command = test.here.command(["ls", "--store", "here", "--json"]);
    let ended = test.here.launch(command.env("BACKSTOP_SERVER", &test.url)).ends().exits(0);
    assert_eq!(ended.stdout.lines().count(), 2, "{}", ended.stderr);
    let mut command = test.here.command(["ls", "--server", &test.url, "--json"]);
    let ended = test.here.launch(command.env("BACKSTOP_STORE", "here")).ends().exits(0);
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stderr);
    let mut command = test.here.command(["ls", "--json"]);
    let ended = test.here.launch(command.env("BACKSTOP_SERVER", &test.url)).ends().exits(0);
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn the_flag_may_stand_among_the_words_of_an_event() {
    let test = Elsewhere::new(Loop::new());
    let run = test.begun(&[]);
    let words = ["emit", "drift", "--score", "0", "--run", &run, "--server", &test.url];
    test.here.run(words).exits(0);
    assert_eq!(test.there.events("drift").len(), 1);
}

#[test]
fn what_is_supervised_reports_to_its_own_supervisor_though_a_variable_names_a_server() {
    let test = Loop::new()
        .variable("BACKSTOP", env!("CARGO_BIN_EXE_backstop"))
        .script("agent.sh", "BACKSTOP_SERVER=http://127.0.0.1:1 $BACKSTOP emit drift --score 0");
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    assert_eq!(test.events("drift").len(), 1);
}

#[test]
fn what_is_supervised_answers_nothing_elsewhere_either() {
    let test = Elsewhere::new(Loop::new());
    let run = test.begun(&[]);
    let script =
        format!("$BACKSTOP --server {} answer {run} continue; echo \"ended $?\"", test.url);
    let here = Loop::new().script("agent.sh", &script);
    let here = here.variable("BACKSTOP", env!("CARGO_BIN_EXE_backstop"));
    let ended = here.run(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    assert!(ended.stdout.contains("ended 64"), "{}{}", ended.stdout, ended.stderr);
}
