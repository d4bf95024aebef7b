//! A decision service over a real database, asked without a socket.

#![expect(clippy::unwrap_used, reason = "what a test can't set up it must not pass")]
#![expect(dead_code, reason = "each test program uses its own part")]

pub mod github;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use backstop_core::document::{Syntax, canonical_json};
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use backstop_server::ServeOptions;
use backstop_server::github::{Github, WebhookSecret, receive, rerun_route};
use backstop_server::rerun;
use backstop_server::service::Service;
use backstop_store::audit::{AuditFilter, AuditRow};
use backstop_store::{Activation, Home, PolicyScope, SqliteStore, Store, StoredPolicy};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::BodyExt as _;
use serde_json::Value as Json;
use sha2::Sha256;
use tempfile::TempDir;
use tower::ServiceExt as _;

pub struct TestService {
    pub service: Arc<Service>,
    pub store: Arc<dyn Store>,
    pub router: Router,
    pub folder: TempDir,
}

pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn word(&self, key: &str) -> String {
        self.json()[key].as_str().unwrap_or_default().to_owned()
    }
}

impl TestService {
    pub async fn start() -> Self {
        Self::with(|store| store).await
    }

    /// A service on what is made of the store; tests look at the store itself.
    pub async fn with(wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> Self {
        Self::knowing(Github::default(), wrap).await
    }

    /// A service that knows a stand-in for GitHub.
    pub async fn beside(github: &github::StandIn) -> Self {
        let secret = WebhookSecret::new(SECRET);
        Self::knowing(Github { secret, client: Some(github.client()) }, |store| store).await
    }

    pub async fn knowing(
        github: Github,
        wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        Self::under(&ServeOptions { github, ..ServeOptions::default() }, wrap).await
    }

    pub async fn under(
        options: &ServeOptions,
        wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&home).await.unwrap());
        let service = Service::start(wrap(Arc::clone(&store)), home, options);
        let router = routes(&service);
        Self { service, store, router, folder }
    }

    /// Another service on the same store.
    pub fn beside_it(&self, github: &github::StandIn) -> Router {
        let secret = WebhookSecret::new(SECRET);
        let github = Github { secret, client: Some(github.client()) };
        let options = ServeOptions { github, ..ServeOptions::default() };
        let home = Home::new(self.folder.path());
        routes(&Service::start(Arc::clone(&self.store), home, &options))
    }

    pub async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Reply { status, headers, text: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Asks about pull request 7 of `acme/shop`, with more parameters.
    pub async fn ask(&self, more: &str) -> Reply {
        self.get(&format!("/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop&{more}"))
            .await
    }

    /// Delivers a body as GitHub does.
    pub async fn deliver(&self, event: &str, id: &str, body: &str) -> Reply {
        self.send(delivery(event, id, body, &sign(SECRET, body))).await
    }

    pub async fn post(&self, path: &str, body: &str) -> Reply {
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    pub async fn put_in_force(&self, scope: &str, document: &str, syntax: Syntax) -> Policy {
        let policy = Policy::load(document.as_bytes(), syntax).unwrap().policy;
        let json = canonical_json(&policy.to_json());
        self.put_stored(scope, &policy.hash(), &json).await;
        policy
    }

    pub async fn put_stored(&self, scope: &str, hash: &str, json: &str) {
        let stored = StoredPolicy {
            hash: hash.to_owned(),
            label: None,
            json: json.to_owned(),
            source: None,
            source_name: "test".to_owned(),
            put_by: "test".to_owned(),
            put_at: Timestamp::default(),
        };
        self.store.policy_put(&stored).await.unwrap();
        let activation = Activation {
            scope: scope.parse::<PolicyScope>().unwrap(),
            policy_hash: Some(hash.to_owned()),
            by: "test".to_owned(),
            at: Timestamp::default(),
        };
        self.store.policy_activate(&activation).await.unwrap();
    }

    pub async fn audit(&self) -> Vec<AuditRow> {
        let filter = AuditFilter { limit: 1_000, ..AuditFilter::default() };
        self.store.audit_list(&filter).await.unwrap()
    }
}

fn routes(service: &Arc<Service>) -> Router {
    Router::new()
        .route(
            "/api/github/prs/{prNumber}/checks/stop-decision",
            axum::routing::get(rerun::stop_decision),
        )
        .route("/webhooks/github", axum::routing::post(receive))
        .route("/v1/github/rerun", axum::routing::post(rerun_route))
        .with_state(Arc::clone(service))
}

pub const SECRET: &str = "It's a Secret to Everybody";

pub fn delivery(event: &str, id: &str, body: &str, signature: &str) -> Request<Body> {
    Request::post("/webhooks/github")
        .header("x-github-event", event)
        .header("x-github-delivery", id)
        .header("x-hub-signature-256", signature)
        .body(Body::from(body.to_owned()))
        .unwrap()
}

pub fn sign(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let digest = mac.finalize().into_bytes();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}
