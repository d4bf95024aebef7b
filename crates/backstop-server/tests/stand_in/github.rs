//! Speaks the part of GitHub's API that is used, on loopback, and remembers what it was asked.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use backstop_server::github::{Client, Pace};
use serde_json::{Value as Json, json};
use tokio::sync::Semaphore;

#[derive(Default)]
pub struct World {
    /// Runs of the pull request's head commit, by id.
    pub runs: BTreeMap<u64, Json>,
    pub jobs: BTreeMap<u64, Vec<Json>>,
    pub logs: BTreeMap<u64, String>,
    pub comments: Vec<(u64, String)>,
    /// What is answered to the next requests instead.
    pub refusals: VecDeque<(u16, Vec<(&'static str, String)>)>,
    /// In these words, where they are not the usual ones.
    pub refused_because: Option<&'static str>,
    pub requests: Vec<String>,
    /// Answers wait for this, if it is there.
    pub gate: Option<Arc<Semaphore>>,
    /// What the host of the logs got as authorization.
    pub strayed: Vec<String>,
}

#[derive(Clone)]
pub struct StandIn {
    world: Arc<Mutex<World>>,
    base: String,
}

pub const TOKEN: &str = "ghs_secret";
pub const HEAD: &str = "3484a3fb816e0859fd6e1cea078d76385ff50625";

impl StandIn {
    pub async fn start() -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let logs = listen(Router::new().fallback(log).with_state(Arc::clone(&world))).await;
        let state = (Arc::clone(&world), logs);
        let base = listen(Router::new().fallback(api).with_state(state)).await;
        Self { world, base }
    }

    pub fn client(&self) -> Arc<Client> {
        let pace = Pace {
            exchange: Duration::from_secs(20),
            longest_wait: Duration::from_secs(5),
            plain_wait: Duration::from_millis(10),
            retry_wait: Duration::from_millis(1),
        };
        Arc::new(Client::new(&self.base, TOKEN).unwrap().with_pace(pace).unwrap())
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// Adds a completed, failed run of pull request 7 with these jobs: name, conclusion, log.
    pub fn add_run(&self, id: u64, attempt: u64, jobs: &[(&str, &str, &str)]) {
        let mut world = self.world();
        world.runs.insert(
            id,
            json!({
                "id": id, "name": "CI", "run_attempt": attempt, "status": "completed",
                "conclusion": "failure", "head_sha": HEAD, "pull_requests": [{"number": 7}],
                "run_started_at": "2020-01-01T00:00:00Z",
            }),
        );
        let listed = jobs.iter().zip(1..).map(|((name, conclusion, log), place)| {
            world.logs.insert(id * 1_000 + place, (*log).to_owned());
            json!({
                "id": id * 1_000 + place, "run_id": id, "run_attempt": attempt, "name": name,
                "status": "completed", "conclusion": conclusion, "head_sha": HEAD,
                "steps": [{"name": "cargo test", "conclusion": conclusion}],
            })
        });
        let listed: Vec<Json> = listed.collect();
        world.jobs.insert(id, listed);
    }

    /// What it was ordered to do, as `POST /path`.
    pub fn orders(&self) -> Vec<String> {
        let world = self.world();
        world.requests.iter().filter(|line| !line.starts_with("GET ")).cloned().collect()
    }
}

async fn listen(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    base
}

async fn log(State(world): State<Arc<Mutex<World>>>, uri: Uri, headers: HeaderMap) -> Response {
    let mut world = world.lock().unwrap();
    for value in headers.get_all("authorization") {
        world.strayed.push(value.to_str().unwrap().to_owned());
    }
    let id: u64 = uri.path().trim_start_matches('/').parse().unwrap();
    world.logs.get(&id).cloned().unwrap_or_default().into_response()
}

async fn api(
    State((world, logs)): State<(Arc<Mutex<World>>, String)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let gate = {
        let mut world = world.lock().unwrap();
        world.requests.push(format!("{method} {}", uri.path()));
        world.gate.clone()
    };
    if let Some(gate) = gate {
        let _passed = gate.acquire().await.unwrap();
    }
    let mut world = world.lock().unwrap();
    if headers.get("authorization").is_none_or(|value| value != &format!("Bearer {TOKEN}")) {
        return told(401, json!({"message": "Bad credentials"}));
    }
    if !headers.contains_key("x-github-api-version") || !headers.contains_key("user-agent") {
        return told(400, json!({"message": "headers are missing"}));
    }
    if let Some((status, headers)) = world.refusals.pop_front() {
        let why = world.refused_because.unwrap_or("API rate limit exceeded");
        let mut response = told(status, json!({ "message": why }));
        for (name, value) in headers {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        return response;
    }
    let path: Vec<&str> = uri.path().split('/').skip(4).collect();
    let body: Json = serde_json::from_slice(&body).unwrap_or_default();
    let page = |list: &[Json]| -> Vec<Json> {
        let query = uri.query().unwrap_or_default();
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse::<usize>().ok())
        };
        let (size, page) = (value("per_page").unwrap_or(30), value("page").unwrap_or(1));
        list.iter().skip((page - 1) * size).take(size).cloned().collect()
    };
    match (method.as_str(), path.as_slice()) {
        ("GET", ["pulls", "7"]) => told(200, json!({"number": 7, "head": {"sha": HEAD}})),
        ("GET", ["commits", sha, "pulls"]) if *sha == HEAD => {
            told(200, json!([{"number": 3, "state": "closed"}, {"number": 7, "state": "open"}]))
        }
        ("GET", ["actions", "runs"]) => {
            let all: Vec<Json> = world.runs.values().cloned().collect();
            told(200, json!({"total_count": all.len(), "workflow_runs": page(&all)}))
        }
        ("GET", ["actions", "runs", id]) => match world.runs.get(&id.parse().unwrap()) {
            Some(run) => told(200, run.clone()),
            None => told(404, json!({"message": "Not Found"})),
        },
        ("GET", ["actions", "runs", id, "jobs"]) => {
            let jobs = world.jobs.get(&id.parse().unwrap()).cloned().unwrap_or_default();
            told(200, json!({"total_count": jobs.len(), "jobs": page(&jobs)}))
        }
        ("GET", ["actions", "jobs", id, "logs"]) => {
            let mut response = StatusCode::FOUND.into_response();
            response.headers_mut().insert("location", format!("{logs}/{id}").parse().unwrap());
            response
        }
        ("POST", ["actions", "runs", id, "rerun" | "rerun-failed-jobs"]) => {
            begin(&mut world, id.parse().unwrap())
        }
        ("POST", ["actions", "jobs", id, "rerun"]) => {
            begin(&mut world, id.parse::<u64>().unwrap() / 1_000)
        }
        ("GET", ["issues", "7", "comments"]) => {
            let all: Vec<Json> =
                world.comments.iter().map(|(id, body)| json!({"id": id, "body": body})).collect();
            told(200, json!(page(&all)))
        }
        ("POST", ["issues", "7", "comments"]) => {
            let id = world.comments.len() as u64 + 1;
            world.comments.push((id, body["body"].as_str().unwrap().to_owned()));
            told(201, json!({"id": id}))
        }
        ("PATCH", ["issues", "comments", id]) => {
            let id: u64 = id.parse().unwrap();
            let text = body["body"].as_str().unwrap().to_owned();
            world.comments.iter_mut().filter(|(own, _)| *own == id).for_each(|(_, old)| {
                old.clone_from(&text);
            });
            told(200, json!({"id": id}))
        }
        _ => told(404, json!({"message": "Not Found"})),
    }
}

fn begin(world: &mut World, id: u64) -> Response {
    let Some(run) = world.runs.get_mut(&id) else { return told(404, json!({})) };
    if run["status"] != "completed" {
        return told(403, json!({"message": "This workflow is already running"}));
    }
    run["status"] = "in_progress".into();
    run["run_attempt"] = (run["run_attempt"].as_u64().unwrap() + 1).into();
    told(201, json!({}))
}

fn told(status: u16, body: Json) -> Response {
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}
