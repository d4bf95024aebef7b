//! `GET /api/github/prs/{prNumber}/checks/stop-decision`.

use std::sync::Arc;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use backstop_core::rerun::{Answer, reason_of};
use tokio::time::timeout;

use super::parameters::{question, request_id_of};
use super::question::{NAMELESS, Question, actor, new_request_id};
use crate::access::Caller;
use crate::guard::{our_bug, unless_it_panics};
use crate::problem::Problem;
use crate::service::Service;

/// Whether failed jobs of a pull request may be run again.
pub async fn stop_decision(
    State(service): State<Arc<Service>>,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
    headers: HeaderMap,
    caller: Option<Extension<Caller>>,
) -> Response {
    let query = match query {
        Ok(Query(query)) => query,
        Err(rejection) => {
            let problem =
                Problem::new(StatusCode::BAD_REQUEST, "INVALID_INPUT", rejection.body_text());
            return echoing(&new_request_id(), problem);
        }
    };
    let given = query.iter().find(|(name, _)| name == "requestId").map(|(_, id)| id.as_str());
    let request_id = match request_id_of(given, &headers) {
        Ok(id) => id.unwrap_or_else(new_request_id),
        Err(problem) => return echoing(&new_request_id(), *problem),
    };
    let actor = actor(caller.as_deref());
    // A path that is no text is no number either.
    let pr_number = path.map(|Path(text)| text).unwrap_or_default();
    match question(&pr_number, &query, request_id.clone(), actor) {
        Ok(question) => answered(&service, question).await,
        Err(problem) => echoing(&request_id, *problem),
    }
}

/// The answer where it can't even be told who asks: nobody may go on.
pub(crate) fn hold_for_store(service: &Service, parts: &Parts) -> Response {
    let pr_number = parts.uri.path().split('/').nth(4).unwrap_or_default();
    let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let query = query.map(|Query(query)| query).unwrap_or_default();
    let given = query.iter().find(|(name, _)| name == "requestId").map(|(_, id)| id.as_str());
    let request_id = request_id_of(given, &parts.headers).ok().flatten();
    let request_id = request_id.unwrap_or_else(new_request_id);
    let nobody = NAMELESS.to_owned();
    match question(pr_number, &query, request_id.clone(), nobody) {
        Ok(question) => {
            let answer = super::held(service, &question, "it can't be told who asks");
            count(service, &answer);
            echoing(&request_id, Json(answer))
        }
        Err(problem) => echoing(&request_id, *problem),
    }
}

async fn answered(service: &Arc<Service>, question: Question) -> Response {
    let request_id = question.request_id.clone();
    // A store that is away is asked several times over. Who waits for a decision gets one before
    // the guard gives the request up. A decision that nobody waits for any more is either not made
    // or on record.
    let answer = unless_it_panics(super::answer(service, question.clone()));
    let answer = match timeout(service.limits.request_time / 2, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(panic)) => return echoing(&request_id, our_bug(&*panic)),
        Err(_late) => super::held(service, &question, "the decision can't be recorded in time"),
    };
    count(service, &answer);
    echoing(&request_id, Json(answer))
}

fn count(service: &Service, answer: &Answer) {
    let reason = answer.reason_code.map(|code| reason_of(code).as_str());
    service.metrics.decided(answer.decision, reason);
}

/// Every answer says to which request it belongs.
fn echoing(request_id: &str, response: impl IntoResponse) -> Response {
    let mut response = response.into_response();
    if let Ok(value) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}
