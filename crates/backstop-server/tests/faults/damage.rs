//! A policy in force that somebody has changed in the database.

use backstop_store::testing::postgres;
use backstop_store::{Home, Location, ServerUrl};
use rstest::rstest;
use serde_json::json;

use crate::support::Server;

const QUESTION: &str = "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop\
    &currentJobAttempts=0&totalPrAttempts=0";

#[rstest]
#[case::no_json("json = '{'")]
#[case::another_policy("json = '{}'")]
#[case::a_program("json = '{\"verify\":{\"command\":\"make\"}}'")]
#[case::empty("json = ''")]
fn a_damaged_policy_in_force_lets_nobody_go_on(#[case] damage: &str) {
    let Some(postgres) = postgres::shared() else { return };
    let database = postgres.database();
    let serve = || {
        let folder = tempfile::tempdir().unwrap();
        let url = ServerUrl::parse(&database.url()).unwrap();
        let location = Location::Server { url, home: Home::new(folder.path()) };
        Server::at(&location, folder, |_| {}, |store| store)
    };
    let server = serve();
    let policy = r#"{"rule":[{"when":{"type":"job_attempts","count":3},"then":"hold"}]}"#;
    let stored = server.post("/v1/policies", policy);
    assert_eq!(stored.status, 201, "{stored:?}");
    let hash = stored.json()["hash"].clone();
    let put = json!({ "policy_hash": hash }).to_string();
    let json = [("content-type", "application/json")];
    assert_eq!(server.ask("PUT", "/v1/policies/active/global", &json, &put).status, 200);
    assert_eq!(serve().get(QUESTION).json()["decision"], "CONTINUE");
    database.query(&format!("UPDATE policies SET {damage}")).unwrap();

    let server = serve();
    let held = server.get(QUESTION).json();
    assert_eq!((&held["decision"], &held["reasonCode"]), (&json!("HOLD"), &json!("LAWBOOK_BLOCK")));
    let decided = server.post("/v1/decide", "{}").json();
    assert_eq!((&decided["verdict"], &decided["reason"]), (&json!("hold"), &json!("policy_block")));
    assert_ne!(server.post("/v1/runs", "{}").status, 201, "a run without its policy");
    let name = hash.as_str().unwrap();
    for path in [format!("/v1/policies/{name}"), format!("/v1/policies/diff?from={name}&to={name}")]
    {
        let answer = server.get(&path);
        assert_eq!((answer.status, answer.code().as_str()), (503, "POLICY_BLOCK"), "{path}");
    }
    let again = server.post("/v1/policies", policy);
    assert_eq!((again.status, again.code().as_str()), (503, "POLICY_BLOCK"), "what is there stays");
    let activated = server.ask("PUT", "/v1/policies/active/label:team=blue", &json, &put);
    assert_eq!((activated.status, activated.code().as_str()), (409, "CONFLICT"), "{activated:?}");
    let rows = server.get("/v1/audit").json()["rows"].clone();
    assert_eq!((&rows[0]["decision"], rows.as_array().unwrap().len()), (&json!("HOLD"), 2));
}
