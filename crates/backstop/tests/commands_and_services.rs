//! What a command says is done counts for a service of the same store from that moment on.

mod support;

use support::Test;
use support::serving::{JSON, Serving};

const QUESTION: &str = "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop\
    &currentJobAttempts=1&totalPrAttempts=1";
const STRICT: &str = r#"{"lawbookVersion": "2", "stopRules": {"maxRerunsPerJob": 1}}"#;

fn decision(service: &Serving, more: &[(&str, &str)]) -> String {
    let answer = service.ask("GET", QUESTION, more, "").json();
    answer["decision"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_order_to_halt_and_its_end_count_at_once() {
    let test = Test::new();
    let service = Serving::start(&test, &[], &[]);
    for _ in 0..2 {
        assert_eq!(decision(&service, &[]), "CONTINUE");
        test.run(["halt", "--all"]).exits(0);
        assert_eq!(decision(&service, &[]), "HOLD");
        test.run(["release", "--all"]).exits(0);
    }
    assert_eq!(decision(&service, &[]), "CONTINUE");
}

#[test]
fn a_policy_that_is_put_in_force_counts_at_once() {
    let test = Test::new().file("strict.json", STRICT);
    let service = Serving::start(&test, &[], &[]);
    let decided = || {
        let question = r#"{"facts":{"job_attempts":1},"form":"rerun"}"#;
        service.ask("POST", "/v1/decide", &[JSON], question).json()["decision"].clone()
    };
    assert_eq!((decision(&service, &[]).as_str(), decided()), ("CONTINUE", "CONTINUE".into()));
    test.run(["policy", "activate", "strict.json"]).exits(0);
    assert_eq!((decision(&service, &[]).as_str(), decided()), ("HOLD", "HOLD".into()));
    test.run(["policy", "activate", "--off"]).exits(0);
    assert_eq!((decision(&service, &[]).as_str(), decided()), ("CONTINUE", "CONTINUE".into()));
}

#[test]
fn a_token_counts_at_once_and_so_does_its_end() {
    let test = Test::new();
    let service = Serving::start(&test, &[], &[]);
    assert_eq!(service.get("/v1/runs").status, 200);
    let made = test.run(["token", "create", "--scope", "admin", "--name", "me"]).exits(0).stdout;
    assert_eq!(service.get("/v1/runs").status, 401);
    let bearer = format!("Bearer {}", made.trim());
    let ask = || service.ask("GET", "/v1/tokens", &[("authorization", &bearer)], "");
    let listed = ask();
    assert_eq!(listed.status, 200);
    let id = listed.json()[0]["id"].as_str().expect("its name").to_owned();
    test.run(["token", "revoke", &id]).exits(0);
    assert_eq!(ask().status, 401);
}
