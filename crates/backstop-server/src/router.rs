//! The one table of routes. The router, the check of scopes, the OpenAPI document and the tests of
//! both come from it.

mod github;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post, put};
use backstop_store::access::Scope;
use serde_json::{Value as Json, json};

use crate::access::Denied;
use crate::api::{audit, decide, events, operate, policies, runs, service as about, tokens};
use crate::guard::{self, Door};
use crate::headers::NEXT_CURSOR;
use crate::problem::Problem;
use crate::route::{MakeHandler, Needs, Route};
use crate::schemas;
use crate::service::Service;

/// Every route.
pub fn routes() -> Vec<Route> {
    let mut routes = of_service();
    routes.extend(of_runs());
    routes.extend(of_switch());
    routes.extend(of_policies());
    routes.extend(of_records());
    routes.extend(github::routes());
    routes
}

fn of_service() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/healthz", "isAlive", Needs::Nothing, |door| {
            get(door.before(about::alive))
        })
        .says("Whether the service is there.")
        .answers::<about::Alive>(200, "It is.")
        .refuses(503, "Too much at once."),
        Route::new(Method::GET, "/readyz", "isReady", Needs::Nothing, |door| {
            get(door.before(about::ready))
        })
        .says("Whether the service can do its work: its store can be read and written.")
        .answers::<about::Ready>(200, "It can.")
        .refuses(503, "It can't: the store can't be used."),
        Route::new(Method::GET, "/openapi.json", "describe", READ, |door| {
            get(door.before(about::openapi))
        })
        .says("This document.")
        .answers::<schemas::Object>(200, "The document."),
        Route::new(Method::GET, "/metrics", "measure", READ, |door| {
            get(door.before(about::metrics))
        })
        .says("Figures for Prometheus.")
        .answers_as::<schemas::Text>(200, about::METRICS_TYPE, "The figures.")
        .goes_by_memory(),
        Route::new(Method::GET, "/v1/reasons", "listReasons", READ, |door| {
            get(door.before(about::reasons))
        })
        .says("The registry of reasons.")
        .answers::<Vec<schemas::Reason>>(200, "All of them."),
        Route::new(Method::POST, "/v1/decide", "decide", REPORT, |door| {
            post(door.before(decide::decide))
        })
        .says("Decides about facts or events, and remembers nothing.")
        .takes::<decide::QuestionSchema>()
        .answers::<decide::DecidedSchema>(
            200,
            "The decision, in the form that was asked for. Where the policy in force can't be \
                 had or loaded it is a hold for `policy_block`.",
        )
        .refuses(404, "There is no policy with this hash.")
        .when_store_fails(decide::hold_for_store),
    ]
}

fn of_runs() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/runs", "listRuns", READ, |door| get(door.before(runs::list)))
            .says("Runs, the newest first.")
            .queries("status", "Only those with one of these.", &schemas::statuses())
            .queries("label", "Only those with all of these: `KEY=VALUE`.", &schemas::label())
            .query("cwd", "Only those of this directory.", text(runs::LONGEST_PATH))
            .query("prefix", "Only those whose names begin like this.", schemas::run_prefix())
            .query("include", "Also where each comes from.", json!({ "enum": [runs::ORIGIN] }))
            .pages(runs::MOST, schemas::run_id())
            .answers::<runs::Runs>(200, "A page of runs."),
        Route::new(Method::POST, "/v1/runs", "beginRun", REPORT, |door| {
            post(door.before(runs::begin))
        })
        .says("Begins a run that a script reports to.")
        .may_take::<runs::Begin>()
        .answers::<runs::Begun>(201, "The new run.")
        .refuses(404, "There is no policy with this hash.")
        .refuses(409, "An order to halt is in force."),
        of_run(Method::GET, "/v1/runs/{id}", "showRun", READ, |door| get(door.before(runs::show)))
            .says("A run, as `backstop show --json` tells of it.")
            .query(
                "include",
                "Also where it comes from, and everything that `backstop show` shows it from.",
                json!({ "enum": [runs::INSIDE] }),
            )
            .answers::<schemas::RunView>(200, "The run."),
        of_run(Method::POST, "/v1/runs/{id}/events", "report", REPORT, |door| {
            post(door.before(events::report))
        })
        .says("Reports what happened, and is told what to do.")
        .header(
            "Idempotency-Key",
            "The same report with the same key again is answered as the first time.",
            json!({ "type": "string", "pattern": "^[!-~]{1,255}$" }),
        )
        .takes::<events::ReportSchema>()
        .answers::<schemas::RunDecision>(
            200,
            "The decision. With `stored: false` nothing was taken in; with `stored: null` that is \
             not known.",
        )
        .refuses(422, "The key was used for another report.")
        .when_store_fails(events::hold_for_store),
        of_run(Method::GET, "/v1/runs/{id}/events", "readJournal", READ, |door| {
            get(door.before(events::journal))
        })
        .says("A run's journal: a page of it, or as it grows, with `Accept: text/event-stream`.")
        .query("after", "Only events after this number.", whole())
        .query("limit", "How many are wanted at most.", up_to(events::MOST))
        .header(
            "Last-Event-ID",
            "The last event that was seen, for a client that comes back to the stream.",
            json!({ "type": "string", "pattern": "^[0-9]{1,15}$" }),
        )
        .answers::<events::Page>(200, "The events.")
        .answers_as::<schemas::Text>(200, "text/event-stream", "The events."),
        of_run(Method::POST, "/v1/runs/{id}/end", "endRun", REPORT, |door| {
            post(door.before(events::end))
        })
        .says("Ends a run that a script reported to.")
        .may_take::<events::End>()
        .answers::<events::Ended>(200, "How it ended."),
        of_run(Method::POST, "/v1/runs/{id}/stop", "stopRun", OPERATE, |door| {
            post(door.before(operate::stop))
        })
        .says("Stops a run.")
        .may_take::<operate::Stop>()
        .answers::<operate::Done>(200, "It stops."),
        of_run(Method::POST, "/v1/runs/{id}/release", "releaseRun", OPERATE, |door| {
            post(door.before(operate::release))
        })
        .says("Lets a held run go on.")
        .may_take::<operate::Release>()
        .answers::<operate::Done>(200, "It may go on."),
        of_run(Method::POST, "/v1/runs/{id}/answer", "answerRun", OPERATE, |door| {
            post(door.before(operate::answer))
        })
        .says("Answers what a run asks.")
        .takes::<operate::Reply>()
        .answers::<operate::Done>(200, "It was answered.")
        .refuses(422, "`fix` needs a note."),
    ]
}

/// A route about one run.
fn of_run(
    method: Method,
    path: &'static str,
    operation: &'static str,
    needs: Needs,
    handler: MakeHandler,
) -> Route {
    Route::new(method, path, operation, needs, handler)
        .path_name("id", "Its name, the beginning of it, or `latest`.", schemas::run_name())
        .refuses(404, "There is no such run.")
        .refuses(409, "Several runs are called so, or it does not fit to how the run is.")
}

fn of_switch() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/halt", "listHalts", READ, |door| {
            get(door.before(operate::halts))
        })
        .says("The orders to halt that are in force.")
        .answers::<Vec<operate::Ordered>>(200, "The orders."),
        Route::new(Method::POST, "/v1/halt", "halt", OPERATE, |door| {
            post(door.before(operate::halt))
        })
        .says("Halts all runs, or those with certain labels, on all machines.")
        .may_take::<operate::Halt>()
        .answers::<operate::Halted>(201, "The order."),
        Route::new(Method::POST, "/v1/release", "release", OPERATE, |door| {
            post(door.before(operate::release_all))
        })
        .says("Takes back orders to halt.")
        .may_take::<operate::ReleaseAll>()
        .answers::<operate::ReleasedAll>(200, "How many."),
    ]
}

fn of_policies() -> Vec<Route> {
    const SCOPE: &str = "`global`, `label:KEY=VALUE` or `repo:OWNER/NAME`, its slash as `%2F`.";
    vec![
        Route::new(Method::GET, "/v1/policies", "listPolicies", READ, |door| {
            get(door.before(policies::list))
        })
        .says("Stored policies, the newest first.")
        .pages(policies::MOST, schemas::policy_hash())
        .answers::<policies::Page>(200, "A page of policies."),
        Route::new(Method::POST, "/v1/policies", "storePolicy", ADMIN, |door| {
            post(door.before(policies::put))
        })
        .says("Stores a policy by its hash. It must be data only.")
        .takes_any::<schemas::Policy>(policies::TYPES, true)
        .answers::<policies::Listed>(200, "It was stored before: by whom and when.")
        .answers::<policies::Listed>(201, "It is stored."),
        Route::new(Method::GET, "/v1/policies/active", "listActive", READ, |door| {
            get(door.before(policies::active))
        })
        .says("The policies in force.")
        .answers::<Vec<policies::Active>>(200, "One for each scope."),
        Route::new(Method::GET, "/v1/policies/history", "listHistory", READ, |door| {
            get(door.before(policies::history))
        })
        .says("What was ever put in force, the newest first.")
        .query("scope", "Only of this scope.", scope())
        .query("limit", "How many are wanted at most.", up_to(policies::MOST))
        .query("cursor", "Only older ones: the `backstop-next-cursor` of the page before.", whole())
        .answers::<Vec<policies::Active>>(200, "The changes.")
        .tells(
            NEXT_CURSOR,
            "Where older ones are left: the `cursor` that leads to them.",
            whole(),
        ),
        Route::new(Method::GET, "/v1/policies/{hash}", "showPolicy", READ, |door| {
            get(door.before(policies::fetch))
        })
        .says("A stored policy.")
        .path_name("hash", "Its hash.", text(200))
        .answers::<policies::Whole>(200, "The policy.")
        .refuses(404, "There is no such policy."),
        Route::new(Method::PUT, "/v1/policies/active/{scope}", "activatePolicy", ADMIN, |door| {
            put(door.before(policies::activate))
        })
        .says("Puts a stored policy in force.")
        .path_name("scope", SCOPE, scope())
        .takes::<policies::Activate>()
        .answers::<policies::Active>(200, "It is in force.")
        .refuses(404, "There is no such policy.")
        .refuses(409, "What is stored of it can't be loaded any more."),
        Route::new(
            Method::DELETE,
            "/v1/policies/active/{scope}",
            "deactivatePolicy",
            ADMIN,
            |door| delete(door.before(policies::deactivate)),
        )
        .says("Takes back the policy in force: the next wider scope counts.")
        .path_name("scope", SCOPE, scope())
        .answers_nothing("It is no longer in force.")
        .refuses(404, "Nothing is in force there."),
    ]
}

fn of_records() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/audit", "listAudit", READ, |door| {
            get(door.before(audit::list))
        })
        .says("The audit of decisions.")
        .query("owner", "Only of repositories of this owner.", text(audit::LONGEST_NAME))
        .query(
            "repo",
            "Only of this repository: its name, or `OWNER/NAME`.",
            text(audit::LONGEST_NAME),
        )
        .query("pr_number", "Only of this pull request.", whole())
        .query("request_id", "Only of this request.", text(audit::LONGEST_ID))
        .query("decision", "Only with this decision.", text(audit::LONGEST_DECISION))
        .query(
            "reason_code",
            "Only for this reason, by any of its names in any case.",
            text(audit::LONGEST_NAME),
        )
        .query("run", "Only of this run, by its whole name.", schemas::run_id())
        .query("order", "Which come first.", json!({ "enum": ["newest", "oldest"] }))
        .query("limit", "How many are wanted at most.", up_to(audit::MOST))
        .query("cursor", "Where the page before ended.", whole())
        .answers::<audit::Page>(200, "A page of rows."),
        Route::new(Method::GET, "/v1/audit/{number}", "showAudit", READ, |door| {
            get(door.before(audit::fetch))
        })
        .says("A row of the audit.")
        .path_name("number", "Its number.", json!({ "type": "integer", "minimum": 1 }))
        .answers::<schemas::AuditRow>(200, "The row.")
        .refuses(404, "There is no such row."),
        Route::new(Method::GET, "/v1/analytics", "analyse", READ, |door| {
            get(door.before(audit::analytics))
        })
        .says("How often what was decided in the last seven days.")
        .answers::<Vec<audit::Counted>>(200, "The counts."),
        Route::new(Method::GET, "/v1/tokens", "listTokens", ADMIN, |door| {
            get(door.before(tokens::list))
        })
        .says("All tokens, without what makes them tokens.")
        .answers::<Vec<tokens::Listed>>(200, "The tokens."),
        Route::new(Method::POST, "/v1/tokens", "makeToken", ADMIN, |door| {
            post(door.before(tokens::make))
        })
        .says("Makes a token. From the first one on, every request needs one.")
        .takes::<tokens::New>()
        .answers::<tokens::Made>(201, "The token, which is told this once.")
        .refuses(422, "It would have expired already."),
        Route::new(Method::DELETE, "/v1/tokens/{id}", "revokeToken", ADMIN, |door| {
            delete(door.before(tokens::revoke))
        })
        .says("Revokes a token, at once and for all servers.")
        .path_name("id", "What it is listed as.", text(200))
        .answers_nothing("It is revoked.")
        .refuses(404, "There is no such token."),
    ]
}

fn text(longest: usize) -> Json {
    json!({ "type": "string", "minLength": 1, "maxLength": longest, "pattern": "^[^\\u0000]*$" })
}

fn whole() -> Json {
    json!({ "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64 })
}

fn up_to(most: u32) -> Json {
    json!({ "type": "integer", "minimum": 1, "maximum": most })
}

fn scope() -> Json {
    let pattern = "^(global|repo:[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}|label:[^=\\u0000]+=[^\\u0000]*)$";
    json!({ "type": "string", "pattern": pattern, "maxLength": 400 })
}

/// The router, with a guard before every handler.
pub(crate) fn build(service: &Arc<Service>) -> Router {
    let (mut router, mut open) = (Router::new(), Vec::new());
    for route in routes() {
        let (path, handler) = (route.path, route.handler);
        if route.needs == Needs::Nothing {
            open.push(path);
        }
        router = router.route(path, handler(Door::new(Arc::clone(service), route)));
    }
    let open: Arc<[&str]> = open.into();
    router
        .fallback(nowhere)
        .method_not_allowed_fallback(async move |state, request| {
            wrong_method(state, &open, request).await
        })
        .with_state(Arc::clone(service))
}

async fn nowhere(State(service): State<Arc<Service>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let problem = Problem::not_found(format!("there is nothing at `{path}`"));
    astray(&service, request, false, problem).await
}

async fn wrong_method(
    State(service): State<Arc<Service>>,
    open: &[&str],
    request: Request,
) -> Response {
    let detail = format!("this can't be asked by {}; `Allow` says how it can", request.method());
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let is_open = open.contains(&request.uri().path());
    astray(&service, request, is_open, Problem::new(status, "METHOD_NOT_ALLOWED", detail)).await
}

/// Who may ask nothing is not told what there is to ask, but for what is open to all.
async fn astray(service: &Service, request: Request, is_open: bool, problem: Problem) -> Response {
    let started = std::time::Instant::now();
    let parts = request.into_parts().0;
    let problem = match guard::count(service, &parts, None) {
        Err(too_often) => too_often,
        Ok(()) if is_open => problem,
        Ok(()) => match service.access.caller(&parts.headers).await {
            Ok(_) => problem,
            Err(Denied::Refused(refused)) => refused,
            Err(Denied::Store(error)) => Problem::store(&error),
        },
    };
    service.metrics.request("", "", problem.status().as_u16(), started.elapsed());
    problem.into_response()
}

pub(crate) const READ: Needs = Needs::Scope(Scope::Read);
pub(crate) const REPORT: Needs = Needs::Scope(Scope::Report);
pub(crate) const OPERATE: Needs = Needs::Scope(Scope::Operate);
pub(crate) const ADMIN: Needs = Needs::Scope(Scope::Admin);
