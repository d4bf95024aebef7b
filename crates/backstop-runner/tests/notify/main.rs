//! Webhooks, against servers that are slow, wrong, hostile or not there.

mod receiver;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use backstop_core::policy::WebhookUrl;
use backstop_core::time::Timestamp;
use backstop_runner::notify::signature::Secret;
use backstop_runner::notify::webhook::{Pace, Webhook};
use backstop_runner::notify::{Message, Outcome};
use receiver::{Receiver, Reply};

fn webhook(url: &str) -> Webhook {
    Webhook {
        url: WebhookUrl::parse(url).expect("a URL"),
        secret: None,
        allow_private: true,
        pace: Pace {
            first_wait: Duration::from_millis(1),
            longest_wait: Duration::from_millis(20),
            connect: Duration::from_secs(5),
            exchange: Duration::from_secs(30),
        },
    }
}

fn message() -> Message {
    Message::test("run-17".to_owned(), Path::new("/home/me/shop"), Timestamp::from_nanos(0))
}

fn delivered(attempts: u32, detail: &str) -> Outcome {
    Outcome { attempts, result: Ok(detail.to_owned()) }
}

fn failed(attempts: u32, detail: &str) -> Outcome {
    Outcome { attempts, result: Err(detail.to_owned()) }
}

#[test]
fn a_message_arrives_with_all_its_headers() {
    let receiver = Receiver::new([Reply::Status(204)]);
    let outcome = webhook(&receiver.url()).deliver(&message());
    assert_eq!(outcome, delivered(1, "it answered 204"));
    let received = &receiver.received()[0];
    assert_eq!(received.line, "POST /hook/s3cret-path HTTP/1.1");
    assert_eq!(received.header("content-type"), Some("application/json; charset=utf-8"));
    let agent = format!("backstop/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(received.header("user-agent"), Some(agent.as_str()));
    assert_eq!(received.header("x-backstop-event"), Some("test"));
    assert_eq!(received.header("x-backstop-delivery"), Some("run-17"));
    assert_eq!(received.header("x-backstop-signature"), None);
    assert_eq!(received.body, message().to_json());
}

/// Computed by somebody else, from what came over the wire.
#[test]
fn a_signature_is_what_openssl_computes() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let secret = Secret::new("a secret of 20 bytes");
    Webhook { secret, ..webhook(&receiver.url()) }.deliver(&message());
    let received = &receiver.received()[0];
    let signed = format!("{}.{}", received.header("x-backstop-timestamp").unwrap(), received.body);
    let mut openssl = match Command::new("openssl")
        .args(["dgst", "-sha256", "-hmac", "a secret of 20 bytes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
    {
        Ok(openssl) => openssl,
        Err(error) => return println!("skipped: openssl can't be started: {error}"),
    };
    std::io::Write::write_all(&mut openssl.stdin.take().unwrap(), signed.as_bytes()).unwrap();
    let printed = String::from_utf8(openssl.wait_with_output().unwrap().stdout).unwrap();
    let digest = printed.trim().rsplit(' ').next().unwrap();
    assert_eq!(received.header("x-backstop-signature"), Some(&*format!("sha256={digest}")));
    assert!(!received.body.contains("a secret of"));
}

#[test]
fn what_may_pass_is_tried_again_with_the_same_name() {
    for first in [
        Reply::Status(500),
        Reply::Status(503),
        Reply::Status(408),
        Reply::Close,
        Reply::Garbage,
        Reply::With(429, "Retry-After: 0"),
        Reply::With(429, "Retry-After: 100000"),
        Reply::With(503, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"),
        Reply::With(429, "Retry-After: never"),
    ] {
        let receiver = Receiver::new([first.clone(), first.clone(), Reply::Status(200)]);
        let outcome = webhook(&receiver.url()).deliver(&message());
        assert_eq!(outcome, delivered(3, "it answered 200"), "{first:?}");
        let received = receiver.received();
        assert_eq!(received.len(), 3);
        assert!(received.iter().all(|one| one.header("x-backstop-delivery") == Some("run-17")));
    }
}

#[test]
fn there_are_five_attempts_and_no_more() {
    let receiver = Receiver::new([Reply::Status(502)]);
    let outcome = webhook(&receiver.url()).deliver(&message());
    assert_eq!(outcome, failed(5, "it answered 502"));
    assert_eq!(receiver.received().len(), 5);
}

#[test]
fn a_refusal_is_final() {
    for status in [400, 401, 403, 404, 410, 422] {
        let receiver = Receiver::new([Reply::Status(status)]);
        let outcome = webhook(&receiver.url()).deliver(&message());
        assert_eq!(outcome, failed(1, &format!("it answered {status}")));
        assert_eq!(receiver.received().len(), 1);
    }
}

#[test]
fn a_redirection_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let receiver = Receiver::new([Reply::With(status, "Location: /elsewhere")]);
        let outcome = webhook(&receiver.url()).deliver(&message());
        assert_eq!(outcome.attempts, 1);
        let why = outcome.result.unwrap_err();
        assert!(why.contains(&format!("it answered {status}, and redirections are not")), "{why}");
        assert_eq!(receiver.received().len(), 1, "{status}");
    }
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let receiver = Receiver::new([Reply::Endless(200)]);
    // Far below what it would take to read for the whole time that an exchange may take.
    let began = Instant::now();
    let outcome = webhook(&receiver.url()).deliver(&message());
    assert_eq!(outcome, delivered(1, "it answered 200"));
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let receiver = Receiver::new([Reply::Never]);
    let mut webhook = webhook(&receiver.url());
    webhook.pace.exchange = Duration::from_millis(200);
    let outcome = webhook.deliver(&message());
    assert_eq!(outcome, failed(5, "no answer within 200ms"));
}

#[test]
fn nobody_there_is_a_failure_that_may_pass() {
    // A port that nobody can have got meanwhile.
    let outcome = webhook("http://127.0.0.1:1/").deliver(&message());
    assert_eq!(outcome.attempts, 5);
    assert!(outcome.result.unwrap_err().contains("refused"));
}

/// However it is written, the address that is really connected to decides.
#[test]
fn private_addresses_are_not_connected_to() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let port = receiver.port;
    for host in [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "[::]",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "[fe80::1]",
        "[fd00::1]",
        "[64:ff9b::7f00:1]",
    ] {
        let url = format!("http://{host}:{port}/");
        let outcome = Webhook { allow_private: false, ..webhook(&url) }.deliver(&message());
        let why = outcome.result.unwrap_err();
        // Some of these are names that nothing is found under, which is as good.
        let is_refused = why.contains("is a private address; `allow_private = true`");
        assert!(is_refused || why.contains("lookup") || why.contains("not found"), "{host}: {why}");
        assert!(is_refused || host.parse::<std::net::IpAddr>().is_err(), "{host}: {why}");
    }
    assert_eq!(receiver.received().len(), 0);
    let named = webhook(&format!("http://localhost:{port}/")).deliver(&message());
    assert_eq!(named, delivered(1, "it answered 200"));
}

#[test]
fn a_server_without_tls_is_told_from_one_with_it() {
    let receiver = Receiver::new([Reply::Garbage]);
    let url = receiver.url().replace("http:", "https:");
    let why = webhook(&url).deliver(&message()).result.unwrap_err();
    assert!(!why.contains("s3cret-path"), "{why}");
}
