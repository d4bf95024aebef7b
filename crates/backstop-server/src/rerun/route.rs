//! `GET /api/github/prs/{prNumber}/checks/stop-decision`.

use std::pin::pin;
use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use backstop_core::rerun::{Answer, reason_of};

use super::parameters::{question, request_id_of};
use super::question::{NAMELESS, Question, actor, new_request_id};
use crate::access::Caller;
use crate::api::decide;
use crate::deadline::Deadline;
use crate::guard::{our_bug, unless_it_panics};
use crate::headers::REQUEST_ID;
use crate::problem::Problem;
use crate::query;
use crate::service::Service;

/// Whether failed jobs of a pull request may be run again.
pub async fn stop_decision(
    State(service): State<Arc<Service>>,
    path: Result<Path<String>, PathRejection>,
    deadline: Deadline,
    caller: Option<Extension<Caller>>,
    request: Request,
) -> Response {
    // Read before anything is waited for, so that nothing is kept of the request meanwhile.
    let asked = {
        let (Parts { uri, headers, .. }, _) = request.into_parts();
        let actor = actor(caller.as_deref());
        // A path that is no text is no number either.
        let pr_number = path.map(|Path(text)| text).unwrap_or_default();
        asked(&pr_number, &uri, &headers, actor)
    };
    match asked {
        Ok(question) => answered(&service, question, deadline).await,
        Err((request_id, problem)) => echoing(&request_id, *problem),
    }
}

/// The question that a request asks; else what is wrong with it, and the id under which that is told.
fn asked(
    pr_number: &str,
    uri: &Uri,
    headers: &HeaderMap,
    actor: String,
) -> Result<Question, (String, Box<Problem>)> {
    let query = match query::pairs(uri) {
        Ok(query) => query,
        Err(problem) => return Err((new_request_id(), Box::new(problem))),
    };
    let given = query.iter().find(|(name, _)| name == "requestId").map(|(_, id)| id.as_str());
    let request_id = match request_id_of(given, headers) {
        Ok(id) => id.unwrap_or_else(new_request_id),
        Err(problem) => return Err((new_request_id(), problem)),
    };
    question(pr_number, &query, request_id.clone(), actor).map_err(|problem| (request_id, problem))
}

/// The answer where it can't even be told who asks: nobody may go on.
pub(crate) fn hold_for_store(service: &Service, parts: &Parts, _: &Bytes) -> Response {
    let pr_number = parts.uri.path().split('/').nth(4).unwrap_or_default();
    match asked(pr_number, &parts.uri, &parts.headers, NAMELESS.to_owned()) {
        Ok(mut question) => {
            let answer = super::held_at_the_door(service, &mut question);
            count(service, &answer);
            told(&question.request_id, &answer)
        }
        Err((request_id, problem)) => echoing(&request_id, *problem),
    }
}

async fn answered(service: &Service, mut question: Question, deadline: Deadline) -> Response {
    let answer = unless_it_panics(pin!(super::answer(service, &mut question, deadline))).await;
    match answer {
        Ok(answer) => {
            count(service, &answer);
            told(&question.request_id, &answer)
        }
        Err(panic) => echoing(&question.request_id, our_bug(&*panic)),
    }
}

/// The answer as it goes over the wire.
fn told(request_id: &str, answer: &Answer) -> Response {
    echoing(request_id, decide::answered(answer.to_json()))
}

fn count(service: &Service, answer: &Answer) {
    let reason = answer.reason_code.map(|code| reason_of(code).as_str());
    service.metrics.decided(answer.decision, reason);
}

/// Every answer says to which request it belongs.
fn echoing(request_id: &str, response: impl IntoResponse) -> Response {
    let mut response = response.into_response();
    if let Ok(value) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use backstop_store::{Home, SqliteStore};

    use super::*;

    /// Each by its value in the next, futures had made 100 KB of themselves: memory that every request
    /// takes and fills.
    #[tokio::test]
    async fn a_question_takes_little_room() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        let store = Arc::new(SqliteStore::open(&home).await.unwrap());
        let service = Service::for_a_command(store, home);
        let request = Request::get("/").body(Body::empty()).unwrap();
        let path = Ok(Path("7".to_owned()));
        let answering =
            stop_decision(State(Arc::clone(&service)), path, service.decides_by(), None, request);
        let bytes = size_of_val(&answering);
        assert!(bytes < 6 << 10, "{bytes}");
    }
}
