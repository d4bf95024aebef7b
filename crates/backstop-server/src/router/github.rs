//! The routes about pull requests.

use axum::http::Method;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde_json::{Value as Json, json};

use super::{OPERATE, READ, REPORT, text};
use crate::api::difference;
use crate::github;
use crate::rerun;
use crate::route::{Needs, Route};
use crate::schemas;

pub(super) fn routes() -> Vec<Route> {
    vec![stop_decision(), guarded_rerun(), webhook(), difference()]
}

fn stop_decision() -> Route {
    let count = || json!({ "type": "integer", "minimum": 0, "maximum": LARGEST });
    let number = || json!({ "type": "integer", "minimum": 1, "maximum": LARGEST });
    let time = || json!({ "type": "string", "format": "date-time" });
    Route::new(
        Method::GET,
        "/api/github/prs/{prNumber}/checks/stop-decision",
        "decideRerun",
        REPORT,
        |door| get(door.before(rerun::stop_decision)),
    )
    .says("Whether failed jobs of a pull request may be run again.")
    .path_name("prNumber", "The pull request.", number())
    .required_query("owner", "Who owns the repository.", name(100))
    .required_query("repo", "The repository.", name(100))
    .required_query("currentJobAttempts", "How often the job was run again.", count())
    .required_query("totalPrAttempts", "How often jobs of the pull request were.", count())
    .query("runId", "The workflow run.", number())
    .query("failureClass", "What kind of failure it is.", text(256))
    .query("lastChangedAt", "When something about it changed last.", time())
    .query("firstFailureAt", "When it failed first.", time())
    .query(
        "previousFailureSignals",
        "What earlier failures looked like, with commas between; those that are remembered count \
         if this is left out.",
        json!({ "type": "string", "maxLength": 8_192, "pattern": SIGNALS }),
    )
    .query("requestId", "What the request is called in the answer and in the audit.", header_text())
    .answers::<schemas::RerunAnswer>(
        200,
        "The decision, which is on record. Where it can't be made or recorded it is HOLD.",
    )
    .when_store_fails(rerun::hold_for_store)
    .bounds_itself()
}

fn guarded_rerun() -> Route {
    Route::new(Method::POST, "/v1/github/rerun", "rerunJobs", OPERATE, |door| {
        post(door.before(github::rerun_route))
    })
    .says("Runs jobs of a pull request again, if the decision allows it.")
    .takes::<Rerun>()
    .answers::<schemas::Object>(
        200,
        "The decision, with what became of it under `decision`, and of each job.",
    )
    .refuses(
        404,
        "GitHub knows of no such pull request or run, or does not show it to this service.",
    )
    .refuses(409, "This service has no token for GitHub.")
    .refuses(502, "GitHub can't be asked, or answers nothing that helps.")
    .when_store_fails(github::hold_for_store)
}

fn webhook() -> Route {
    Route::new(Method::POST, "/webhooks/github", "hearGithub", Needs::Nothing, |door| {
        post(door.before(github::receive))
    })
    .says("Takes what GitHub tells of runs, jobs and checks.")
    .takes::<schemas::Object>()
    .takes_up_to(github::LARGEST_DELIVERY)
    .answers::<schemas::Object>(200, "It was worked on, now or before, or is a greeting.")
    .answers::<schemas::Object>(202, "It is worked on, or is of no interest.")
    .refuses(401, "It is not signed with the secret that both sides know.")
    .refuses(409, "This service has no secret to check it by.")
    .refuses(503, "It can't be remembered now.")
}

fn difference() -> Route {
    let hash = schemas::policy_hash;
    Route::new(Method::GET, "/v1/policies/diff", "comparePolicies", READ, |door| {
        get(door.before(difference::compare))
    })
    .says("What differs between two policies, in words.")
    .required_query("from", "The hash of the one.", hash())
    .required_query("to", "The hash of the other.", hash())
    .answers::<difference::Difference>(200, "Each difference in a sentence.")
    .refuses(404, "There is no policy with this hash.")
}

/// What may be run again; `github::RerunRequest` reads it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Rerun {
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME))]
    owner: String,
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME))]
    repo: String,
    #[schemars(range(min = 1, max = LARGEST))]
    pr_number: u64,
    #[schemars(range(min = 1, max = LARGEST))]
    run_id: Option<u64>,
    #[schemars(extend("enum" = ["FAILED_ONLY", "ALL_JOBS"]))]
    mode: String,
    #[schemars(range(min = 1, max = 5), default)]
    max_attempts: Option<u64>,
    #[schemars(length(min = 1, max = 256), regex(pattern = "^[!-~]+$"))]
    request_id: Option<String>,
}

fn name(longest: u32) -> Json {
    json!({ "type": "string", "minLength": 1, "maxLength": longest, "pattern": NAME })
}

fn header_text() -> Json {
    json!({ "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$" })
}

const LARGEST: u64 = (1 << 53) - 1;
/// A name on GitHub.
const NAME: &str = "^[A-Za-z0-9._-]+$";
/// Up to 256 entries of up to 256 characters.
const SIGNALS: &str = "^[^,\\u0000]{0,256}(,[^,\\u0000]{0,256}){0,255}$";
