//! Who asks, and what they may do.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use backstop_runner::clock::wall_time;
use backstop_store::access::{Scope, Secret, TokenRecord};
use backstop_store::audit::Hash;
use backstop_store::{Store, StoreError};
use subtle::ConstantTimeEq as _;

use crate::problem::Problem;

/// Who asks. Handlers take it as an argument; the guard has made sure that they may.
#[derive(Clone, Debug)]
pub struct Caller {
    token: Option<Arc<TokenRecord>>,
}

impl Caller {
    /// How the journal and the audit call them.
    pub fn name(&self) -> &str {
        self.token.as_ref().map_or("local", |token| token.name.as_str())
    }

    /// Whether they may do this. On this machine, while there are no tokens, anybody may do all.
    pub fn has(&self, scope: Scope) -> bool {
        self.token.as_ref().is_none_or(|token| {
            token.scopes.contains(&scope) || token.scopes.contains(&Scope::Admin)
        })
    }

    pub(crate) fn token(&self) -> Option<&TokenRecord> {
        self.token.as_deref()
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Problem::internal(&"a route without a guard asks who calls"))
    }
}

/// Why nobody was let in.
#[derive(Debug)]
pub(crate) enum Denied {
    Refused(Problem),
    /// It can't be told who it is.
    Store(StoreError),
}

/// Knows the tokens. What it has looked up it believes for a moment only, so that a token that was
/// revoked anywhere is refused everywhere at once.
#[derive(Debug)]
pub(crate) struct Access {
    store: Arc<dyn Store>,
    is_loopback: bool,
    /// Tokens are never forgotten, so this never becomes false again.
    any_token: AtomicBool,
    /// When it was last found that there are none. Both locks are held for a moment only.
    none_seen: Mutex<Option<Instant>>,
    known: Mutex<HashMap<[u8; 32], Known>>,
}

/// A token, and when it was looked up.
type Known = (Arc<TokenRecord>, Instant);

impl Access {
    pub(crate) fn new(store: Arc<dyn Store>, is_loopback: bool) -> Self {
        Self {
            store,
            is_loopback,
            any_token: AtomicBool::new(false),
            none_seen: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// Finds out who asks.
    pub(crate) async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let first = given.next();
        if given.next().is_some() {
            // Whom it comes from must not depend on which of them somebody reads.
            let detail = "there are several `Authorization` headers";
            return Err(Denied::Refused(Problem::unreadable(detail)));
        }
        let Some(value) = first else {
            if self.is_loopback && !self.needs_tokens().await? {
                return Ok(Caller { token: None });
            }
            return Err(unauthorised("this needs a token: `Authorization: Bearer bks_…`"));
        };
        let text = value.to_str().ok().and_then(|text| text.split_once(' '));
        let token = match text {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => return Err(unauthorised("`Authorization` must be `Bearer` and a token")),
        };
        let hash = Secret::presented(token).hash();
        match self.find(&hash).await? {
            // The store found it by its hash; that it is the same is looked at without telling by
            // the time it takes where they differ.
            Some(record)
                if bool::from(record.hash.0.ct_eq(&hash.0)) && record.is_valid(wall_time()) =>
            {
                Ok(Caller { token: Some(record) })
            }
            _ => Err(unauthorised("this token is unknown, expired or revoked")),
        }
    }

    /// Forgets what was looked up, when a token was made or revoked here.
    pub(crate) fn forget(&self) {
        lock(&self.known).clear();
        *lock(&self.none_seen) = None;
    }

    /// Whether there has ever been a token.
    async fn needs_tokens(&self) -> Result<bool, Denied> {
        if self.any_token.load(Ordering::Relaxed) {
            return Ok(true);
        }
        if lock(&self.none_seen).is_some_and(|seen| seen.elapsed() < BELIEVED) {
            return Ok(false);
        }
        let looked = Instant::now();
        let any = !self.store.token_list().await.map_err(Denied::Store)?.is_empty();
        if any {
            self.any_token.store(true, Ordering::Relaxed);
        } else {
            *lock(&self.none_seen) = Some(looked);
        }
        Ok(any)
    }

    async fn find(&self, hash: &Hash) -> Result<Option<Arc<TokenRecord>>, Denied> {
        if let Some((record, looked)) = lock(&self.known).get(&hash.0)
            && looked.elapsed() < BELIEVED
        {
            return Ok(Some(Arc::clone(record)));
        }
        let looked = Instant::now();
        let found = self.store.token_fetch(hash).await.map_err(Denied::Store)?;
        let Some(record) = found.map(Arc::new) else { return Ok(None) };
        let mut known = lock(&self.known);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(hash.0, (Arc::clone(&record), looked));
        Ok(Some(record))
    }
}

/// A new token, which nobody will see again.
///
/// # Errors
/// The system has no chance to give.
pub fn new_token() -> std::io::Result<Secret> {
    Ok(Secret::new(&backstop_runner::chance::bytes()?))
}

fn unauthorised(detail: &str) -> Denied {
    Denied::Refused(Problem::new(StatusCode::UNAUTHORIZED, "UNAUTHORISED", detail))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes tokens easy to find where they should not be.
pub const BELIEVED: Duration = Duration::from_millis(900);
const MOST_KNOWN: usize = 1_024;
