//! The one table of routes. The router, the check of scopes, the OpenAPI document and the tests of
//! both come from it.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use backstop_store::access::Scope;

use crate::access::Denied;
use crate::api::{decide, service as about};
use crate::guard::{self, Door};
use crate::problem::Problem;
use crate::route::{Needs, Route};
use crate::schemas;
use crate::service::Service;

/// Every route.
pub fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::new(Method::GET, "/healthz", "isAlive", Needs::Nothing, || get(about::alive))
            .says("Whether the service is there.")
            .answers::<about::Alive>(200, "It is."),
        Route::new(Method::GET, "/readyz", "isReady", Needs::Nothing, || get(about::ready))
            .says("Whether the service can do its work: its store can be read and written.")
            .answers::<about::Ready>(200, "It can.")
            .refuses(503, "It can't: the store can't be used."),
        Route::new(Method::GET, "/openapi.json", "describe", READ, || get(about::openapi))
            .says("This document.")
            .answers::<schemas::Object>(200, "The document."),
        Route::new(Method::GET, "/metrics", "measure", READ, || get(about::metrics))
            .says("Figures for Prometheus.")
            .answers_as::<schemas::Text>(200, about::METRICS_TYPE, "The figures."),
        Route::new(Method::GET, "/v1/reasons", "listReasons", READ, || get(about::reasons))
            .says("The registry of reasons.")
            .answers::<Vec<schemas::Reason>>(200, "All of them."),
        Route::new(Method::POST, "/v1/decide", "decide", REPORT, || post(decide::decide))
            .says("Decides about facts or events, and remembers nothing.")
            .takes::<decide::QuestionSchema>()
            .answers::<decide::DecidedSchema>(
                200,
                "The decision, in the form that was asked for. Where the policy in force can't be \
                 had or loaded it is a hold for `policy_block`.",
            )
            .refuses(404, "There is no policy with this hash.")
            .when_store_fails(decide::hold_for_store),
    ];
    routes.sort_by_key(|route| route.path);
    routes
}

/// The router, with a guard before every handler.
pub(crate) fn build(service: &Arc<Service>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let (path, handler) = (route.path, route.handler);
        let door = Door { service: Arc::clone(service), route: Arc::new(route) };
        router = router.route(path, handler().route_layer(from_fn_with_state(door, guard::enter)));
    }
    router
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_method)
        // The guard has read the body, and has its own limit.
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::clone(service))
}

async fn nowhere(State(service): State<Arc<Service>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let problem = Problem::not_found(format!("there is nothing at `{path}`"));
    astray(&service, request, problem).await
}

async fn wrong_method(State(service): State<Arc<Service>>, request: Request) -> Response {
    let detail = format!("this can't be asked by {}; `Allow` says how it can", request.method());
    let status = StatusCode::METHOD_NOT_ALLOWED;
    astray(&service, request, Problem::new(status, "METHOD_NOT_ALLOWED", detail)).await
}

/// Who may ask nothing is not told what there is to ask.
async fn astray(service: &Service, request: Request, problem: Problem) -> Response {
    let started = std::time::Instant::now();
    let parts = request.into_parts().0;
    let problem = match guard::count(service, &parts, None) {
        Err(too_often) => too_often,
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
