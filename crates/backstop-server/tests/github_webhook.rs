//! Deliveries of GitHub: who is believed, what is decided, and what is done about it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod stand_in;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use backstop_core::document::Syntax;
use backstop_core::time::Timestamp;
use backstop_server::github::{Github, WebhookSecret};
use backstop_server::{Running, ServeOptions, serve};
use backstop_store::audit::AuditFilter;
use backstop_store::{Delivery, Home, PullRequest, SqliteStore, Store};
use rstest::rstest;
use serde_json::{Value as Json, json};
use stand_in::github::{HEAD, StandIn};
use stand_in::{SECRET, TestService, delivery, sign};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

const ACTS: &str = "preset = \"rerun\"\n[github]\nact = true\ncomment = true\n\
    [[github.class]]\npattern = \"licen[cs]e server\"\nclass = \"infra transient\"\n";

fn failed_run(id: u64, attempt: u64) -> String {
    json!({
        "action": "completed",
        "workflow_run": {
            "id": id, "name": "CI", "run_attempt": attempt, "status": "completed",
            "conclusion": "failure", "head_sha": HEAD, "run_started_at": "2020-01-01T00:00:00Z",
            "pull_requests": [
                {"number": 2, "base": {"repo": {"id": 99}}}, {"number": 7, "base": {"repo": {"id": 1}}}
            ],
        },
        "repository": {"id": 1, "full_name": "acme/shop"},
    })
    .to_string()
}

async fn signals(test: &TestService) -> Vec<(String, String)> {
    let of = PullRequest::new("acme", "shop", 7);
    let list = test.store.signal_list(&of, None, 100).await.expect("the store can be read");
    list.into_iter().map(|one| (one.job, one.class.expect("a class"))).collect()
}

#[rstest]
#[case::flaky("thrown: \"Exceeded timeout of 5000 ms for a test.", "flaky probable", true)]
#[case::machinery("npm ERR! code ECONNRESET", "infra transient", true)]
#[case::own_pattern("error[E0308]: LICENSE SERVER is busy", "infra transient", true)]
#[case::unknown("assertion failed", "unknown", false)]
#[case::build("error[E0308]: mismatched types", "build deterministic", false)]
#[tokio::test]
async fn what_may_pass_is_run_again_once(
    #[case] log: &str,
    #[case] class: &str,
    #[case] again: bool,
) {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("lint", "success", ""), ("test", "failure", log)]);
    let test = TestService::beside(&github).await;
    test.put_in_force("repo:acme/shop", ACTS, Syntax::Toml).await;

    let reply = test.deliver("workflow_run", "d-1", &failed_run(40, 1)).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    assert_eq!(signals(&test).await, [("test".to_owned(), class.to_owned())]);
    let order = "POST /repos/acme/shop/actions/runs/40/rerun-failed-jobs";
    let ordered = || github.orders().iter().filter(|one| *one == order).count();
    assert_eq!(ordered(), usize::from(again), "{}", reply.text);
    let rows = test.audit().await;
    assert_eq!((rows.len(), rows[0].row.failure_class.as_deref()), (1, Some(class)));
    assert_eq!((rows[0].row.pr_number, rows[0].row.workflow_run_id), (Some(7), Some(40)));
    assert_eq!(
        (rows[0].row.actor.as_str(), rows[0].row.request_id.as_str()),
        ("github", "github-d-1")
    );

    // Told of once more under another name: decided again, and not run again.
    let reply = test.deliver("workflow_run", "d-2", &failed_run(40, 1)).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    assert_eq!(ordered(), usize::from(again));
    assert_eq!(test.audit().await.len(), 2);

    let world = github.world();
    assert_eq!(world.strayed, Vec::<String>::new(), "the token is for GitHub alone");
    assert_eq!(world.comments.len(), 1, "one comment is kept up to date");
    assert!(world.comments[0].1.contains("| test | 1 |"), "{}", world.comments[0].1);
}

#[tokio::test]
async fn a_policy_that_does_not_say_so_has_nothing_done() {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("test", "failure", "ECONNRESET")]);
    let test = TestService::beside(&github).await;
    let reply = test.deliver("workflow_run", "d-1", &failed_run(40, 1)).await;
    assert_eq!(reply.json()["decision"]["decision"], "CONTINUE");
    assert_eq!(github.orders(), Vec::<String>::new());
}

#[tokio::test]
async fn attempts_are_counted_over_all_runs_and_limit_them() {
    let github = StandIn::start().await;
    github.add_run(40, 3, &[("test", "failure", "ECONNRESET")]);
    let test = TestService::beside(&github).await;
    test.put_in_force("global", ACTS, Syntax::Toml).await;
    let reply = test.deliver("workflow_run", "d-1", &failed_run(40, 3)).await;
    let decision = &reply.json()["decision"];
    assert_eq!(
        (&decision["decision"], &decision["reasonCode"]),
        (&json!("HOLD"), &json!("MAX_ATTEMPTS"))
    );
    assert_eq!(
        decision["evidence"]["attemptCounts"],
        json!({"currentJobAttempts": 2, "totalPrAttempts": 2})
    );
    github.add_run(41, 2, &[("test", "failure", "ETIMEDOUT")]);
    let reply = test.deliver("workflow_run", "d-2", &failed_run(41, 2)).await;
    let decision = &reply.json()["decision"];
    assert_eq!(
        decision["evidence"]["attemptCounts"],
        json!({"currentJobAttempts": 1, "totalPrAttempts": 3})
    );
    let orders = github.orders();
    assert!(!orders.iter().any(|order| order.contains("runs/40/")), "{orders:?}");
}

#[rstest]
#[case::wrong("sha256=0000000000000000000000000000000000000000000000000000000000000000")]
#[case::sha1("sha1=0000000000000000000000000000000000000000")]
#[case::empty("")]
#[tokio::test]
async fn who_does_not_know_the_secret_is_not_believed(#[case] signature: &str) {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("test", "failure", "ECONNRESET")]);
    let test = TestService::beside(&github).await;
    let body = failed_run(40, 1);
    let reply = test.send(delivery("workflow_run", "d-1", &body, signature)).await;
    assert_eq!(
        (reply.status, reply.word("code").as_str()),
        (StatusCode::UNAUTHORIZED, "INVALID_SIGNATURE")
    );
    let other = sign("another secret", &body);
    let reply = test.send(delivery("workflow_run", "d-1", &body, &other)).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    let tampered = body.replace("\"number\":7", "\"number\":8");
    let reply = test.send(delivery("workflow_run", "d-1", &tampered, &sign(SECRET, &body))).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    let unsigned = Request::post("/webhooks/github").body(Body::from(body.clone())).unwrap();
    assert_eq!(test.send(unsigned).await.status, StatusCode::UNAUTHORIZED);
    assert!(test.audit().await.is_empty() && signals(&test).await.is_empty());
    // The delivery's name is not used up by forgeries.
    assert_eq!(test.deliver("workflow_run", "d-1", &body).await.word("status"), "decided");
}

#[tokio::test]
async fn a_delivery_that_differs_in_one_bit_is_not_believed() {
    let test = TestService::beside(&StandIn::start().await).await;
    let body = failed_run(40, 1);
    let signature = sign(SECRET, &body);
    let send = async |body: &[u8], signature: &[u8]| {
        let request = Request::post("/webhooks/github")
            .header("x-github-event", "workflow_run")
            .header("x-github-delivery", "d-1")
            .header("x-hub-signature-256", signature)
            .body(Body::from(body.to_vec()))
            .unwrap();
        test.send(request).await.status
    };
    for place in 0..body.len() {
        let mut forged = body.clone().into_bytes();
        forged[place] ^= 1;
        assert_eq!(send(&forged, signature.as_bytes()).await, StatusCode::UNAUTHORIZED, "{place}");
    }
    for place in 0..signature.len() {
        let mut forged = signature.clone().into_bytes();
        forged[place] ^= 1;
        assert_eq!(send(body.as_bytes(), &forged).await, StatusCode::UNAUTHORIZED, "{place}");
    }
    let cut = &body.as_bytes()[..body.len() - 1];
    assert_eq!(send(cut, signature.as_bytes()).await, StatusCode::UNAUTHORIZED);
    let longer = format!("{body} ");
    assert_eq!(send(longer.as_bytes(), signature.as_bytes()).await, StatusCode::UNAUTHORIZED);
    assert!(test.audit().await.is_empty() && signals(&test).await.is_empty());
}

#[tokio::test]
async fn a_form_is_told_what_to_choose() {
    let test = TestService::beside(&StandIn::start().await).await;
    let body = "payload=%7B%22zen%22%3A%22Design+for+failure.%22%7D";
    for event in ["ping", "workflow_run"] {
        let mut request = delivery(event, "d-1", body, &sign(SECRET, body));
        let kind = "application/x-www-form-urlencoded".parse().unwrap();
        request.headers_mut().insert("content-type", kind);
        let reply = test.send(request).await;
        assert_eq!(reply.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{}", reply.text);
        assert!(reply.word("error").contains("application/json"), "{}", reply.text);
    }
}

#[tokio::test]
async fn without_a_secret_nobody_is_believed() {
    let test = TestService::start().await;
    let reply = test.deliver("ping", "d-1", "{}").await;
    assert_eq!(
        (reply.status, reply.word("code").as_str()),
        (StatusCode::CONFLICT, "NO_WEBHOOK_SECRET")
    );
}

#[tokio::test]
async fn a_delivery_is_worked_on_once() {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("test", "failure", "ECONNRESET")]);
    let test = TestService::beside(&github).await;
    test.put_in_force("global", ACTS, Syntax::Toml).await;
    let body = failed_run(40, 1);
    let (one, other) = tokio::join!(
        test.deliver("workflow_run", "d-1", &body),
        test.deliver("workflow_run", "d-1", &body),
    );
    let mut states = [one.word("status"), other.word("status")];
    states.sort();
    assert_eq!(states[0], "decided");
    assert!(["duplicate", "under_way"].contains(&states[1].as_str()), "{states:?}");
    assert_eq!(test.deliver("workflow_run", "d-1", &body).await.word("status"), "duplicate");
    assert_eq!(test.audit().await.len(), 1);
    let orders = github.orders();
    assert_eq!(orders.iter().filter(|order| order.ends_with("/rerun-failed-jobs")).count(), 1);
}

#[tokio::test]
async fn limits_are_waited_out_or_the_delivery_may_come_again() {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("test", "failure", "ECONNRESET")]);
    let test = TestService::beside(&github).await;
    test.put_in_force("global", ACTS, Syntax::Toml).await;
    let far = (9_999_999_999_u64).to_string();
    let limited = vec![("x-ratelimit-remaining", "0".to_owned()), ("x-ratelimit-reset", far)];
    github.world().refusals.push_back((403, limited));
    let body = failed_run(40, 1);
    let reply = test.deliver("workflow_run", "d-1", &body).await;
    assert_eq!(
        (reply.status, reply.word("code").as_str()),
        (StatusCode::SERVICE_UNAVAILABLE, "NOT_DONE")
    );
    assert!(reply.text.contains("rate limit"), "{}", reply.text);
    let asked = github.world().requests.len();
    // GitHub is left in peace until then.
    assert_eq!(test.deliver("workflow_run", "d-1", &body).await.word("code"), "NOT_DONE");
    assert_eq!(github.world().requests.len(), asked);

    let test = TestService::beside(&github).await;
    test.put_in_force("global", ACTS, Syntax::Toml).await;
    {
        let mut world = github.world();
        world.refusals.push_back((429, vec![("retry-after", "0".to_owned())]));
        world.refusals.push_back((429, Vec::new()));
    }
    let reply = test.deliver("workflow_run", "d-1", &body).await;
    assert_eq!(reply.word("status"), "decided", "{}", reply.text);
    assert!(github.orders().iter().any(|order| order.ends_with("/rerun-failed-jobs")));
}

/// GitHub documents these words for limits that no header tells of.
#[rstest]
#[case("You have exceeded a secondary rate limit. Please wait a few minutes.", true)]
#[case("You have triggered an abuse detection mechanism. Please wait.", true)]
#[case("Resource not accessible by integration", false)]
#[tokio::test]
async fn a_limit_that_only_words_tell_of_is_waited_out(
    #[case] words: &'static str,
    #[case] waits: bool,
) {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("test", "failure", "ECONNRESET")]);
    let test = TestService::beside(&github).await;
    {
        let mut world = github.world();
        world.refused_because = Some(words);
        world.refusals.push_back((403, Vec::new()));
    }
    let reply = test.deliver("workflow_run", "d-1", &failed_run(40, 1)).await;
    let expected = if waits { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    assert_eq!(reply.status, expected, "{}", reply.text);
}

/// A real service, with what it needs to be stopped and started again.
struct Served {
    running: Running,
    store: Arc<dyn Store>,
    folder: tempfile::TempDir,
}

impl Served {
    async fn start(github: &StandIn, shutdown_time: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&home).await.unwrap());
        let mut options = ServeOptions::new("127.0.0.1:0".parse().unwrap());
        let secret = WebhookSecret::new(SECRET);
        options.github = Github { secret, client: Some(github.client()) };
        options.limits.shutdown_time = shutdown_time;
        let running = serve(options, Arc::clone(&store), home).await.unwrap();
        Self { running, store, folder }
    }

    /// Sends a delivery, and goes away as soon as GitHub is asked about it.
    async fn deliver_and_go(&self, github: &StandIn, body: &str) {
        let mut stream = std::net::TcpStream::connect(self.running.address).unwrap();
        let head = format!(
            "POST /webhooks/github HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             x-github-event: workflow_run\r\nx-github-delivery: d-1\r\n\
             x-hub-signature-256: {}\r\ncontent-length: {}\r\n\r\n",
            sign(SECRET, body),
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        while github.world().requests.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn what_was_accepted_is_finished_before_the_end() {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("test", "failure", "ECONNRESET")]);
    let gate = Arc::new(Semaphore::new(0));
    github.world().gate = Some(Arc::clone(&gate));
    let served = Served::start(&github, Duration::from_secs(60)).await;
    served.deliver_and_go(&github, &failed_run(40, 1)).await;
    let Served { running, store, folder } = served;
    let closed = running.address;
    let ending = tokio::spawn(running.shutdown());
    // It takes nobody in any more, and works on.
    while tokio::net::TcpStream::connect(closed).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!ending.is_finished());
    gate.add_permits(Semaphore::MAX_PERMITS);
    ending.await.unwrap();
    let filter = AuditFilter { limit: 10, ..AuditFilter::default() };
    assert_eq!(store.audit_list(&filter).await.unwrap().len(), 1);
    let again = store.delivery_take("github:d-1", "another", Timestamp::default()).await.unwrap();
    assert_eq!(again, Delivery::Done);
    drop(folder);
}

#[tokio::test]
async fn what_could_not_be_finished_can_be_sent_again() {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("test", "failure", "ECONNRESET")]);
    let gate = Arc::new(Semaphore::new(0));
    github.world().gate = Some(Arc::clone(&gate));
    let served = Served::start(&github, Duration::from_millis(10)).await;
    served.deliver_and_go(&github, &failed_run(40, 1)).await;
    let Served { running, store, folder } = served;
    running.shutdown().await;
    let take = async |at| store.delivery_take("github:d-1", "another", at).await.unwrap();
    let now = backstop_runner::clock::wall_time();
    assert_eq!(take(now).await, Delivery::UnderWay, "not at once");
    assert_eq!(take(now.plus(Duration::from_secs(60))).await, Delivery::Taken);
    gate.add_permits(Semaphore::MAX_PERMITS);
    drop(folder);
}

/// Two services on one store, which both hear of runs that fail at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn deliveries_at_once_leave_one_comment() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    test.put_in_force("global", ACTS, Syntax::Toml).await;
    let other = test.beside_it(&github);
    let numbers: Vec<u64> = (40..52).collect();
    for number in &numbers {
        github.add_run(*number, 1, &[("test", "failure", "ECONNRESET")]);
    }
    let deliveries = numbers.iter().map(|number| {
        let service = if number % 2 == 0 { test.router.clone() } else { other.clone() };
        let body = failed_run(*number, 1);
        let request = delivery("workflow_run", &format!("d-{number}"), &body, &sign(SECRET, &body));
        tokio::spawn(service.oneshot(request))
    });
    for reply in deliveries.collect::<Vec<_>>() {
        assert_eq!(reply.await.unwrap().unwrap().status(), StatusCode::OK);
    }
    let world = github.world();
    assert_eq!(world.comments.len(), 1, "{:?}", world.comments);
}

#[tokio::test]
async fn jobs_of_the_same_name_in_other_workflows_are_other_jobs() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    test.put_in_force("global", ACTS, Syntax::Toml).await;
    for (number, workflow) in [(40, "CI"), (41, "Docs"), (42, "Nightly")] {
        github.add_run(number, 1, &[("test", "failure", "ECONNRESET")]);
        let mut world = github.world();
        for job in world.jobs.get_mut(&number).unwrap() {
            job["workflow_name"] = workflow.into();
        }
    }
    for number in 40..43 {
        let id = format!("d-{number}");
        let reply = test.deliver("workflow_run", &id, &failed_run(number, 1)).await;
        assert_eq!(reply.json()["decision"]["decision"], "CONTINUE", "{}", reply.text);
    }
    let jobs: Vec<_> = signals(&test).await.into_iter().map(|(job, _)| job).collect();
    assert_eq!(jobs, ["CI / test", "Docs / test", "Nightly / test"]);
}

#[tokio::test]
async fn every_page_of_jobs_is_read() {
    let github = StandIn::start().await;
    let mut jobs: Vec<(&str, &str, &str)> = vec![("fine", "success", ""); 230];
    jobs.push(("last", "failure", "error[E0308]: no"));
    github.add_run(40, 1, &jobs);
    let test = TestService::beside(&github).await;
    test.deliver("workflow_run", "d-1", &failed_run(40, 1)).await;
    assert_eq!(signals(&test).await, [("last".to_owned(), "build deterministic".to_owned())]);
}

#[rstest]
#[case("push", "{}", "is not about jobs")]
#[case(
    "workflow_run",
    r#"{"action": "requested", "repository": {"full_name": "a/b"}}"#,
    "only of interest when completed"
)]
#[tokio::test]
async fn what_is_of_no_interest_is_ignored_politely(
    #[case] event: &str,
    #[case] body: &str,
    #[case] why: &str,
) {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    let reply = test.deliver(event, "d-1", body).await;
    assert_eq!((reply.status, reply.word("status").as_str()), (StatusCode::ACCEPTED, "ignored"));
    assert!(reply.word("why").contains(why), "{}", reply.text);
}

#[rstest]
#[case("{")]
#[case("[]")]
#[case(r#"{"action": "completed"}"#)]
#[case(r#"{"action": "completed", "repository": {"full_name": "../.."}}"#)]
#[case(
    r#"{"action": "completed", "repository": {"full_name": "a/b"}, "workflow_run": {"id": -1}}"#
)]
#[tokio::test]
async fn what_github_never_sends_is_refused(#[case] body: &str) {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    let reply = test.deliver("workflow_run", "d-1", body).await;
    assert_eq!(
        (reply.status, reply.word("code").as_str()),
        (StatusCode::BAD_REQUEST, "INVALID_INPUT")
    );
}

/// The payloads that GitHub itself gives as examples.
#[tokio::test]
async fn real_payloads_are_understood() {
    let folder =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures/github-webhooks"));
    let Ok(files) = std::fs::read_dir(folder) else {
        println!("skipped: {} does not exist", folder.display());
        return;
    };
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    let mut seen = BTreeMap::new();
    for path in files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
    {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let event = name.split("__").next().unwrap();
        let body = std::fs::read_to_string(&path).unwrap();
        let reply = test.deliver(event, &name, &body).await;
        assert!(reply.status.is_success(), "{name}: {}", reply.text);
        seen.insert(name.clone(), reply.word("status"));
        // The same, but failed.
        let mut changed: Json = serde_json::from_str(&body).unwrap();
        for key in ["workflow_run", "workflow_job", "check_run", "check_suite"] {
            if changed[key].is_object() {
                changed[key]["conclusion"] = "failure".into();
                changed[key]["head_sha"] = HEAD.into();
                changed["action"] = "completed".into();
            }
        }
        let reply = test.deliver(event, &format!("{name}-failed"), &changed.to_string()).await;
        assert!(reply.status.is_success(), "{name}: {}", reply.text);
        seen.insert(format!("{name}-failed"), reply.word("status"));
    }
    assert_eq!(seen["workflow_job__completed.failure.with-organization.payload.json"], "decided");
    assert_eq!(seen["workflow_run__completed.payload.json"], "ignored");
    assert_eq!(seen["workflow_run__completed.payload.json-failed"], "decided");
    assert_eq!(seen["check_run__completed.payload.json-failed"], "decided");
    assert_eq!(seen["check_suite__completed.payload.json-failed"], "decided");
    let of = PullRequest::new("Codertocat", "Hello-World", 7);
    let jobs = test.store.signal_list(&of, None, 10).await.unwrap();
    assert_eq!(jobs[0].job, "CodeQL / linters");
    assert!(!test.audit().await.is_empty());
}

#[tokio::test]
async fn without_a_token_only_the_delivery_is_known() {
    let github = Github { secret: WebhookSecret::new(SECRET), client: None };
    let test = TestService::knowing(github, |store| store).await;
    test.put_in_force("global", ACTS, Syntax::Toml).await;
    let reply = test.deliver("workflow_run", "d-1", &failed_run(40, 1)).await;
    assert_eq!(reply.word("status"), "decided", "{}", reply.text);
    let job = json!({
        "action": "completed",
        "workflow_job": {"id": 1, "run_id": 2, "conclusion": "failure", "status": "completed"},
        "repository": {"full_name": "acme/shop"},
    });
    let reply = test.deliver("workflow_job", "d-2", &job.to_string()).await;
    assert_eq!(
        (reply.word("status").as_str(), reply.word("why").as_str()),
        ("ignored", "no pull request is known for it")
    );
}
