//! The listener: takes connections, answers their requests, and ends without dropping one.

use std::convert::Infallible;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use backstop_core::redact::Redactor;
use backstop_runner::clock::wall_time;
use backstop_store::{Home, Store, StoreError};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use crate::guard::{self, Peer};
use crate::headers::REQUEST_ID;
use crate::options::{Limits, ServeOptions};
use crate::pages;
use crate::problem::Problem;
use crate::router;
use crate::service::Service;
use crate::tls::{self, TlsError};
use crate::traces::{self, CollectorError, Traces};
use crate::unread::Unread;
use crate::upkeep;

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("can't listen at {address}: {cause}")]
    Listen { address: SocketAddr, cause: io::Error },
    #[error(
        "{address} can be reached from other machines, and there is no token yet; make one with \
         `backstop token create`"
    )]
    NoToken { address: SocketAddr },
    #[error(
        "{address} can be reached from other machines, so it needs TLS: give a certificate and \
         its key, or say `--insecure` if something in front of it speaks TLS"
    )]
    NoTls { address: SocketAddr },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Collector(#[from] CollectorError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A service that listens.
#[derive(Debug)]
pub struct Running {
    pub address: SocketAddr,
    pub service: Arc<Service>,
    accepting: JoinHandle<()>,
    traces: Option<Arc<Traces>>,
}

impl Running {
    /// Takes nothing new, finishes what has begun for as long as the limits say, and ends.
    pub async fn shutdown(self) {
        let until = tokio::time::Instant::now() + self.service.limits.shutdown_time;
        self.service.closing.cancel();
        // A panic there has been told already.
        self.accepting.await.ok();
        self.service.finish_until(until).await;
        // If this can't be said, it is found out soon enough.
        self.service.store.service_attend(&self.service.name, Duration::ZERO).await.ok();
        if let Some(traces) = &self.traces {
            traces.flush().await;
        }
    }
}

/// Listens, and answers as long as nobody shuts it down.
///
/// # Errors
/// The address can't be had, or it would be open to others without a token or without TLS.
pub async fn serve(
    options: ServeOptions,
    store: Arc<dyn Store>,
    home: Home,
) -> Result<Running, ServeError> {
    let address = options.address;
    if !address.ip().is_loopback() {
        if options.tls.is_none() && !options.insecure {
            return Err(ServeError::NoTls { address });
        }
        let now = wall_time();
        if !store.token_list().await?.iter().any(|token| token.is_valid(now)) {
            return Err(ServeError::NoToken { address });
        }
    }
    let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
    let listen = |cause| ServeError::Listen { address, cause };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let service = Service::start(store, home, &options);
    // Before the first question, so that who changes something reckons with it.
    if let Err(error) = upkeep::attend(&service).await {
        // Who can't write down a decision holds, and says that it is not ready.
        tracing::error!(%error, "the store can't be written");
        service.metrics.store_failed();
    }
    let collector = options.otlp.as_deref();
    let traces = collector.map(|place| Traces::to(place, service.metrics.spans())).transpose()?;
    let traces = traces.map(Arc::new);
    let app = App {
        router: router::build(&service),
        service: Arc::clone(&service),
        tls,
        traces: traces.clone(),
    };
    tracing::info!(%address, tls = app.tls.is_some(), "listening");
    let accepting = tokio::spawn(accept(listener, Arc::new(app)));
    Ok(Running { address, service, accepting, traces })
}

struct App {
    router: Router,
    service: Arc<Service>,
    tls: Option<TlsAcceptor>,
    traces: Option<Arc<Traces>>,
}

async fn accept(listener: TcpListener, app: Arc<App>) {
    let closing = app.service.closing.clone();
    let room = Arc::new(Semaphore::new(app.service.limits.connections));
    let mut connections = JoinSet::new();
    loop {
        // Those for whom there is no room wait where they are.
        let next = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (permit, listener.accept().await)
        };
        tokio::select! {
            () = closing.cancelled() => break,
            (permit, accepted) = next => match (permit, accepted) {
                (Ok(permit), Ok((stream, peer))) => {
                    connections.spawn(connection(Arc::clone(&app), stream, peer.ip(), permit));
                }
                (_, Err(error)) => {
                    // Usually there are no file descriptors left; some may come back.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(AFTER_A_FAULT).await;
                }
                (Err(_closed), _) => break,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(app.service.limits.shutdown_time, ended).await.is_err() {
        tracing::warn!(left = connections.len(), "connections are cut off");
        connections.shutdown().await;
    }
}

async fn connection(app: Arc<App>, stream: TcpStream, peer: IpAddr, _room: OwnedSemaphorePermit) {
    stream.set_nodelay(true).ok();
    let ends = Ends { peer, local: stream.local_addr().ok().map(|address| address.ip()) };
    match app.tls.clone() {
        None => converse(app, stream, ends).await,
        Some(acceptor) => {
            let limit = app.service.limits.header_time;
            match tokio::time::timeout(limit, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => converse(app, stream, ends).await,
                Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS"),
                Err(_late) => tracing::debug!(%peer, "TLS took too long"),
            }
        }
    }
}

/// The two ends of a connection.
#[derive(Clone, Copy, Debug)]
struct Ends {
    peer: IpAddr,
    local: Option<IpAddr>,
}

async fn converse(app: Arc<App>, stream: impl AsyncRead + AsyncWrite + Unpin, ends: Ends) {
    // Of its own, since it is looked at for every request: all connections would share a lock.
    let closing = app.service.closing.child_token();
    let limits = app.service.limits;
    let asked = CancellationToken::new();
    let answering = service_fn({
        let asked = asked.clone();
        move |request| {
            if !asked.is_cancelled() {
                asked.cancel();
            }
            answer(Arc::clone(&app), request, ends)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        // What is over the limit but still read is refused in words.
        .max_headers(limits.headers.max(HEADERS_READ))
        .max_buf_size(limits.header_bytes.max(LEAST_BUFFER))
        .serve_connection(TokioIo::new(stream), answering);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.cancelled() => {
            // Whoever has been let in but not been read yet may have asked already.
            tokio::select! {
                ended = connection.as_mut() => return tell_early_end(ended, ends),
                () = asked.cancelled() => {}
                () = tokio::time::sleep(FIRST_REQUEST) => {}
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    tell_early_end(ended, ends);
}

fn tell_early_end(ended: hyper::Result<()>, ends: Ends) {
    if let Err(error) = ended {
        tracing::debug!(peer = %ends.peer, %error, "a connection ended early");
    }
}

/// Answers a request, whatever it is.
async fn answer(
    app: Arc<App>,
    mut request: Request<Incoming>,
    ends: Ends,
) -> Result<Response<Body>, Infallible> {
    let started = Instant::now();
    let request_id = request_id(&request);
    request.headers_mut().insert(REQUEST_ID, request_id.clone());
    request.extensions_mut().insert(Peer(ends.peer));
    // What is logged must be known before the request is gone; without its query, which may hold
    // what is nobody's business.
    let uri = tracing::enabled!(tracing::Level::WARN)
        .then(|| (request.method().clone(), request.uri().clone()));
    let mut response = match app.traces.clone() {
        None => worked_on(&app, request, ends, started).await,
        Some(traces) => {
            let begun = traces.begin(request.headers(), wall_time().as_nanos());
            let method = request.method().clone();
            let (response, learnt) =
                traces::learning(worked_on(&app, request, ends, started)).await;
            if let Some(begun) = begun {
                let (id, status) = (request_id.to_str().unwrap_or_default(), response.status());
                traces.end(begun, learnt, &method, id, status.as_u16(), started.elapsed());
            }
            response
        }
    };
    if let Some((method, uri)) = uri {
        let (id, status, took) = (&request_id, response.status(), started.elapsed());
        let answered = Answered { id, method: &method, path: uri.path(), status, took };
        answered.log(&app.service.redactor);
    }
    let headers = response.headers_mut();
    headers.entry(REQUEST_ID).or_insert(request_id);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// A request that was answered, for the log.
struct Answered<'a> {
    id: &'a HeaderValue,
    method: &'a Method,
    path: &'a str,
    status: StatusCode,
    took: Duration,
}

impl Answered<'_> {
    /// A line about it. Those that went well are many, and the metrics count them: they are told
    /// only to who asks for every detail. Names that a client gives may be secrets by mistake; they
    /// are looked through only where a line is written.
    fn log(&self, redactor: &Redactor) {
        let id = self.id.to_str().unwrap_or_default();
        let micros = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX);
        let (method, status) = (self.method, self.status.as_u16());
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    request_id = %redactor.text(id),
                    %method,
                    path = %redactor.text(self.path),
                    status,
                    micros,
                    "answered"
                )
            };
        }
        match status {
            500.. => line!(warn),
            400.. => line!(info),
            _ => line!(debug),
        }
    }
}

async fn worked_on(
    app: &App,
    request: Request<Incoming>,
    ends: Ends,
    started: Instant,
) -> Response<Body> {
    let gate = &app.service.gate;
    let origin = gate.allowed_origin(request.headers());
    let checked = check_head(&request, app.service.limits);
    let mut response = match checked.and_then(|()| gate.check(&request, ends.local)) {
        Ok(()) if origin.is_some() && pages::is_preflight(&request) => {
            let (parts, _unread) = Unread::of(request).into_parts();
            let response = match guard::count(&app.service, &parts, None) {
                Ok(()) => pages::preflight(),
                Err(too_often) => too_often.into_response(),
            };
            app.service.metrics.request("", "", response.status().as_u16(), started.elapsed());
            response
        }
        Ok(()) => match app.router.clone().call(Unread::of(request)).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
        Err(problem) => {
            drop(Unread::of(request));
            app.service.metrics.request("", "", problem.status().as_u16(), started.elapsed());
            problem.into_response()
        }
    };
    if let Some(origin) = origin {
        pages::let_read(response.headers_mut(), origin);
    }
    response
}

/// The HTTP library bounds what it reads at once, which may be a little more.
fn check_head(request: &Request<Incoming>, limits: Limits) -> Result<(), Problem> {
    let too_large =
        |why| Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "TOO_LARGE", why));
    // Its id every request has here, whether it came with one or not.
    let given = request.headers().iter().filter(|(name, _)| *name != REQUEST_ID).count();
    if given > limits.headers {
        return too_large(format!("the request has more than {} header lines", limits.headers));
    }
    let headers = request.headers().iter();
    let lines = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_LINE);
    let target = request.uri().path_and_query().map_or(1, |target| target.as_str().len());
    if target + lines.sum::<usize>() > limits.header_bytes {
        let most = limits.header_bytes;
        return too_large(format!("the head of the request is larger than {most} bytes"));
    }
    Ok(())
}

/// The one that the client gave, where it can be told again without harm; else a new one.
fn request_id(request: &Request<Incoming>) -> HeaderValue {
    match request.headers().get(REQUEST_ID) {
        Some(given) if is_harmless(given.as_bytes()) => given.clone(),
        _ => new_request_id(),
    }
}

fn is_harmless(text: &[u8]) -> bool {
    (1..=LONGEST_REQUEST_ID).contains(&text.len()) && text.iter().all(u8::is_ascii_graphic)
}

/// Unique enough to find one line in the logs of many machines: a number by chance for as long as
/// this runs, and one that counts.
fn new_request_id() -> HeaderValue {
    static HERE: LazyLock<String> =
        LazyLock::new(|| format!("req-{:016x}-", RandomState::new().build_hasher().finish()));
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = HeaderValue::from(NEXT.fetch_add(1, Ordering::Relaxed));
    let id = [HERE.as_bytes(), number.as_bytes()].concat();
    HeaderValue::from_maybe_shared(Bytes::from(id)).unwrap_or(number)
}

/// The colon, the blank and the end of a line.
const HEADER_LINE: usize = 4;
/// As long as one in a query may be.
const LONGEST_REQUEST_ID: usize = 256;
/// What the HTTP library can read without asking for memory.
const HEADERS_READ: usize = 100;
const AFTER_A_FAULT: Duration = Duration::from_millis(100);
/// How long a connection that is open when the service ends has time to ask its first question.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// Less than this the HTTP library does not take.
const LEAST_BUFFER: usize = 8 << 10;
