//! Who may ask for what, from where.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Answer, Server};
use backstop_runner::clock::wall_time;
use backstop_server::route::{Needs, Route};
use backstop_server::router::routes;
use backstop_server::{ServeError, ServeOptions, serve};
use backstop_store::access::Scope;
use backstop_store::testing::{FailingStore, FailureKind};

const JSON: (&str, &str) = ("content-type", "application/json");

fn with_token(server: &Server, method: &str, path: &str, token: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    server.ask(method, path, &[JSON, ("authorization", &bearer)], body)
}

fn path_of(route: &Route) -> String {
    route
        .path
        .replace("{id}", "nobody")
        .replace("{hash}", "x")
        .replace("{scope}", "global")
        .replace("{number}", "1")
}

#[test]
fn every_route_asks_for_its_scope_and_no_other() {
    let server = Server::start();
    let tokens: Vec<_> = Scope::ALL.map(|scope| (scope, server.token(&[scope]))).into();
    for route in routes() {
        let (method, path) = (route.method.as_str(), path_of(&route));
        // A body that no route takes: what is refused is refused before it is read.
        let body = if route.body.is_some() { "{\"no such field\":1}" } else { "" };
        let anonymous = server.ask(method, &path, &[JSON], body);
        let wrong = with_token(&server, method, &path, "bks_0000", body);
        let Needs::Scope(needed) = route.needs else {
            assert!(![401, 403].contains(&anonymous.status), "{route:?}: {anonymous:?}");
            continue;
        };
        assert_eq!((anonymous.status, wrong.status), (401, 401), "{route:?}");
        assert_eq!(anonymous.header("www-authenticate"), Some("Bearer"));
        for (scope, token) in &tokens {
            let allowed = *scope == needed || *scope == Scope::Admin;
            let answer = with_token(&server, method, &path, token, body);
            assert_eq!(answer.status != 403, allowed, "{route:?} with {scope}: {answer:?}");
            assert_ne!(answer.status, 401, "{route:?} with {scope}");
            assert!(answer.status < 500, "{route:?} with {scope}: {answer:?}");
        }
    }
}

#[test]
fn tokens_are_needed_from_the_first_one_on() {
    let server = Server::start();
    assert_eq!(server.get("/v1/runs").status, 200);
    let made = server.post("/v1/tokens", r#"{"name":"ann","scopes":["admin"]}"#);
    assert_eq!(made.status, 201, "{made:?}");
    let (token, id) = (made.json()["token"].clone(), made.json()["id"].clone());
    let token = token.as_str().unwrap();
    assert!(token.starts_with("bks_") && token.len() == 68, "{token}");
    for path in ["/v1/runs", "/openapi.json", "/metrics", "/nowhere"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(with_token(&server, "GET", "/v1/runs", token, "").status, 200);
    assert_eq!(with_token(&server, "GET", "/nowhere", token, "").status, 404);
    // A token in the address is none.
    assert_eq!(server.get(&format!("/v1/runs?access_token={token}")).status, 401);
    let listed = with_token(&server, "GET", "/v1/tokens", token, "");
    assert!(!listed.body.contains(token) && !listed.body.contains("hash"), "{listed:?}");
    let path = format!("/v1/tokens/{}", id.as_str().unwrap());
    assert_eq!(with_token(&server, "DELETE", &path, token, "").status, 204);
    assert_eq!(with_token(&server, "GET", "/v1/runs", token, "").status, 401);
    assert_eq!(server.get("/v1/runs").status, 401, "a revoked token was a token");
}

#[test]
fn a_token_that_is_revoked_elsewhere_is_refused_soon() {
    let server = Server::start();
    let token = server.token(&[Scope::Read]);
    assert_eq!(with_token(&server, "GET", "/v1/runs", &token, "").status, 200);
    let id = server.wait(server.store.token_list()).unwrap()[0].id.clone();
    assert!(server.wait(server.store.token_revoke(&id, wall_time())).unwrap());
    let begun = Instant::now();
    while with_token(&server, "GET", "/v1/runs", &token, "").status != 401 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it is still taken");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Figures are wanted most when something is wrong.
#[test]
fn who_was_known_last_may_see_the_figures_while_the_store_is_away() {
    let start = || {
        let mut failing = None;
        let wrap = |store| {
            let store = failing.insert(Arc::new(FailingStore::new(store, None)));
            Arc::clone(store) as Arc<_>
        };
        (Server::with(|_| {}, wrap), failing.unwrap())
    };
    let away = |server: &Server, store: &FailingStore, headers: &[(&str, &str)]| {
        store.fail_from_now_on(FailureKind::Read);
        let begun = Instant::now();
        while server.ask("GET", "/v1/reasons", headers, "").status != 503 {
            assert!(begun.elapsed() < Duration::from_secs(30), "it is believed for ever");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let (server, store) = start();
    assert_eq!(server.get("/metrics").status, 200);
    away(&server, &store, &[]);
    let figures = server.get("/metrics");
    assert_eq!(figures.status, 200, "{figures:?}");
    assert!(figures.body.contains("backstop_store_errors_total"), "{figures:?}");

    let (server, store) = start();
    let bearer = format!("Bearer {}", server.token(&[Scope::Read]));
    let known = [("authorization", bearer.as_str())];
    assert_eq!(server.ask("GET", "/v1/reasons", &known, "").status, 200);
    away(&server, &store, &known);
    assert_eq!(server.ask("GET", "/metrics", &known, "").status, 200);
    assert_eq!(server.ask("GET", "/metrics", &[("authorization", "Bearer bks_0")], "").status, 503);
    // There are tokens, which needs no store to be known.
    assert_eq!(server.get("/metrics").status, 401);
}

#[test]
fn a_token_that_has_expired_is_refused() {
    let server = Server::start();
    let past = server.token_until(&[Scope::Admin], Some(wall_time().minus(Duration::from_secs(1))));
    let later = wall_time().plus(Duration::from_secs(3600));
    let valid = server.token_until(&[Scope::Admin], Some(later));
    assert_eq!(with_token(&server, "GET", "/v1/runs", &past, "").status, 401);
    assert_eq!(with_token(&server, "GET", "/v1/runs", &valid, "").status, 200);
}

#[test]
fn other_ways_to_say_a_token_are_refused() {
    let server = Server::start();
    let token = server.token(&[Scope::Admin]);
    for header in [format!("Basic {token}"), token.clone(), format!("Bearer{token}"), String::new()]
    {
        let answer = server.ask("GET", "/v1/runs", &[("authorization", &header)], "");
        assert_eq!(answer.status, 401, "{header}");
    }
    let answer =
        server.ask("GET", "/v1/runs", &[("authorization", &format!("bearer {token}"))], "");
    assert_eq!(answer.status, 200);
    let good = format!("Bearer {token}");
    for second in [good.as_str(), "Bearer bks_other"] {
        let both = [("authorization", good.as_str()), ("authorization", second)];
        let answer = server.ask("GET", "/v1/runs", &both, "");
        assert_eq!(answer.status, 400, "whose request it is must be clear");
    }
}

#[test]
fn who_may_only_report_can_not_say_what_a_supervisor_observes() {
    let server = Server::start();
    let reporter = server.token(&[Scope::Report]);
    let both = server.token(&[Scope::Report, Scope::Operate]);
    let begun = with_token(&server, "POST", "/v1/runs", &reporter, "");
    let run = begun.json()["run_id"].as_str().unwrap().to_owned();
    let path = format!("/v1/runs/{run}/events");
    let finished = r#"{"type":"iteration_finished","exit_code":0}"#;
    assert_eq!(with_token(&server, "POST", &path, &reporter, finished).status, 403);
    assert_eq!(with_token(&server, "POST", &path, &both, finished).status, 200);
    for kind in ["raised", "signal", "released", "answered", "resumed", "halted"] {
        let body = format!(r#"{{"type":"{kind}"}}"#);
        for token in [&reporter, &both] {
            let status = with_token(&server, "POST", &path, token, &body).status;
            assert!([400, 403].contains(&status), "{kind}: {status}");
        }
    }
}

#[test]
fn pages_of_an_allowed_origin_may_ask_and_read_the_answers() {
    let allow = |options: &mut ServeOptions| {
        options.allowed_origins = vec!["https://ops.example".to_owned()];
    };
    let server = Server::with(allow, |store| store);
    let token = server.token(&[Scope::Read, Scope::Report]);
    let asks = ("access-control-request-method", "POST");
    let of_page = ("origin", "https://ops.example");
    // Browsers ask first, without a token.
    let answer = server.ask("OPTIONS", "/v1/runs", &[of_page, asks], "");
    assert_eq!(answer.status, 204, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some(of_page.1));
    let methods = answer.header("access-control-allow-methods").unwrap();
    assert!(methods.contains("POST") && methods.contains("DELETE"), "{methods}");
    let sent = answer.header("access-control-allow-headers").unwrap();
    for name in ["authorization", "idempotency-key", "traceparent"] {
        assert!(sent.contains(name), "{sent}");
    }
    let bearer = format!("Bearer {token}");
    // What browsers say of a request that a page sends to another site.
    let of_site = ("sec-fetch-site", "cross-site");
    let posted = [JSON, of_page, of_site, ("authorization", bearer.as_str())];
    let answer = server.ask("POST", "/v1/runs", &posted, "{}");
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some(of_page.1));
    let foreign = [JSON, ("origin", "https://evil.example"), of_site, posted[3]];
    assert_eq!(server.ask("POST", "/v1/runs", &foreign, "{}").status, 403);
    for (headers, status) in
        [(vec![of_page, ("authorization", bearer.as_str())], 200), (vec![of_page], 401)]
    {
        let answer = server.ask("GET", "/v1/runs", &headers, "");
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("access-control-allow-origin"), Some(of_page.1), "{answer:?}");
        assert_eq!(answer.header("vary"), Some("origin"));
        let told = answer.header("access-control-expose-headers").unwrap();
        assert!(told.contains("x-request-id"), "{told}");
    }
    let other = [("origin", "https://evil.example"), asks];
    let answer = server.ask("OPTIONS", "/v1/runs", &other, "");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None));
    // Who is no page is told nothing of pages.
    let answer = with_token(&server, "GET", "/v1/runs", &token, "");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, None));
}

#[test]
fn what_browsers_ask_first_is_counted_like_all_else() {
    let origins = || vec!["https://ops.example".to_owned()];
    let asked = [("origin", "https://ops.example"), ("access-control-request-method", "POST")];
    let server = Server::with(|options| options.allowed_origins = origins(), |store| store);
    for _ in 0..2 {
        assert_eq!(server.ask("OPTIONS", "/v1/runs", &asked, "").status, 204);
    }
    let figures = server.get("/metrics").body;
    let counted = "backstop_http_requests_total{method=\"\",route=\"\",status=\"204\"} 2";
    assert!(figures.contains(counted), "{figures}");
    let few = |options: &mut ServeOptions| {
        options.allowed_origins = origins();
        options.limits.requests_per_second = NonZeroU32::new(3);
    };
    let server = Server::with(few, |store| store);
    let answers: Vec<_> = (0..20).map(|_| server.ask("OPTIONS", "/v1/runs", &asked, "")).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("a refusal");
    // The page is told, too.
    assert!(refused.header("access-control-allow-origin").is_some(), "{refused:?}");
}

#[test]
fn requests_from_other_sites_are_refused_before_anything_else() {
    let server = Server::start();
    let foreign = server.ask("GET", "/v1/reasons", &[("host", "evil.example")], "");
    assert_eq!((foreign.status, foreign.code().as_str()), (421, "UNKNOWN_HOST"));
    // Who only watches whether it is there may call it as they like.
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.ask("GET", path, &[("host", "any.example")], "").status, 200, "{path}");
    }
    let origin = [JSON, ("origin", "https://evil.example")];
    assert_eq!(server.ask("POST", "/v1/halt", &origin, "{}").status, 403);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(server.ask("POST", "/v1/halt", &form, "a=b").status, 415);
    let fetched = [JSON, ("sec-fetch-site", "cross-site")];
    assert_eq!(server.ask("POST", "/v1/halt", &fetched, "{}").status, 403);
    assert_eq!(server.get("/v1/halt").json(), serde_json::json!([]), "nothing was halted");
    for header in
        ["x-request-id", "x-content-type-options", "cache-control", "content-security-policy"]
    {
        assert!(foreign.header(header).is_some(), "{header}");
    }
}

#[test]
fn request_ids_are_told_again_only_where_that_is_harmless() {
    let server = Server::start();
    let told = |id: &str| {
        let answer = server.ask("GET", "/healthz", &[("x-request-id", id)], "");
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(told("abc-1"), "abc-1");
    assert!(told("with a blank").starts_with("req-"));
    assert_eq!(told(&"x".repeat(256)), "x".repeat(256), "as long as one in a query");
    assert!(told(&"x".repeat(257)).starts_with("req-"));
    let (one, other) = (server.get("/healthz"), server.get("/healthz"));
    assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
}

#[test]
fn other_machines_are_let_in_only_with_a_token_and_tls() {
    let server = Server::start();
    let begin = |insecure: bool| {
        let options = ServeOptions { insecure, ..ServeOptions::new("0.0.0.0:0".parse().unwrap()) };
        let store = Arc::clone(&server.store);
        server.wait(serve(options, store, server.home.clone()))
    };
    assert!(matches!(begin(false), Err(ServeError::NoTls { .. })));
    assert!(matches!(begin(true), Err(ServeError::NoToken { .. })));
    let past = Some(wall_time().minus(Duration::from_secs(1)));
    server.token_until(&[Scope::Admin], past);
    assert!(matches!(begin(true), Err(ServeError::NoToken { .. })));
    server.token(&[Scope::Admin]);
    let running = begin(true).unwrap();
    let address = format!("127.0.0.1:{}", running.address.port()).parse().unwrap();
    assert_eq!(crate::support::ask(address, "GET", "/healthz", &[], "").status, 200);
    assert_eq!(crate::support::ask(address, "GET", "/v1/runs", &[], "").status, 401);
    server.wait(running.shutdown());
}

#[test]
fn wrong_methods_are_told_the_right_ones() {
    let server = Server::start();
    for route in routes() {
        let answer = server.ask("PATCH", &path_of(&route), &[], "");
        assert_eq!(answer.status, 405, "{route:?}");
        assert_eq!(answer.code(), "METHOD_NOT_ALLOWED");
        let allow = answer.header("allow").unwrap_or_default();
        assert!(
            allow.split(',').any(|one| one.trim() == route.method.as_str()),
            "{route:?}: {allow}"
        );
    }
}

#[test]
fn who_has_no_token_is_told_of_methods_only_where_none_is_needed() {
    let server = Server::start();
    server.token(&[Scope::Read]);
    for route in routes() {
        let expected = if route.needs == Needs::Nothing { 405 } else { 401 };
        let answer = server.ask("PATCH", &path_of(&route), &[], "");
        assert_eq!(answer.status, expected, "{route:?}");
    }
}
