//! A decision service over a real database, asked without a socket.

#![expect(dead_code, reason = "each test program uses its own part")]

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use backstop_core::document::{Syntax, canonical_json};
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use backstop_server::rerun;
use backstop_server::service::Service;
use backstop_store::audit::{AuditFilter, AuditRow};
use backstop_store::{Activation, Home, PolicyScope, SqliteStore, Store, StoredPolicy};
use http_body_util::BodyExt as _;
use serde_json::Value as Json;
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
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&home).await.unwrap());
        let service = Service::start(wrap(Arc::clone(&store)), home);
        let router = Router::new()
            .route(
                "/api/github/prs/{prNumber}/checks/stop-decision",
                axum::routing::get(rerun::stop_decision),
            )
            .with_state(Arc::clone(&service));
        Self { service, store, router, folder }
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
