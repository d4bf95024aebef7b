//! Who asks, and what they may do.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use backstop_runner::clock::wall_time;
use backstop_store::access::{Scope, Secret, TokenRecord};
use backstop_store::audit::Hash;
use backstop_store::{Store, StoreError};
use subtle::ConstantTimeEq as _;

use crate::belief::BELIEVED;
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
    /// Held for a moment only, never across a wait.
    believed: Mutex<Believed>,
}

/// What is believed for a moment, and how often it was changed here: what was looked up before a
/// change is not kept after it.
#[derive(Debug, Default)]
struct Believed {
    /// When it was last found that there are no tokens.
    none_seen: Option<Instant>,
    /// Tokens, and when they were looked up.
    tokens: HashMap<[u8; 32], (Arc<TokenRecord>, Instant)>,
    changes: u64,
}

impl Access {
    pub(crate) fn new(store: Arc<dyn Store>, is_loopback: bool) -> Self {
        Self { store, is_loopback, any_token: AtomicBool::new(false), believed: Mutex::default() }
    }

    /// Finds out who asks.
    pub(crate) async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let Some(hash) = presented(headers)? else {
            if self.is_loopback && !self.needs_tokens().await? {
                return Ok(Caller { token: None });
            }
            return Err(unauthorised("this needs a token: `Authorization: Bearer bks_…`"));
        };
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

    /// Who it was when the store could last be asked: for what is of use just when it can't be.
    pub(crate) fn last_known(&self, headers: &HeaderMap) -> Option<Caller> {
        let hash = presented(headers).ok()?;
        let believed = self.believed();
        match hash {
            None => {
                let needs_none = self.is_loopback && !self.any_token.load(Ordering::Relaxed);
                let is_known = believed.none_seen.is_some_and(is_recent);
                (needs_none && is_known).then_some(Caller { token: None })
            }
            Some(hash) => {
                let (record, looked) = believed.tokens.get(&hash.0)?;
                let is_known = is_recent(*looked) && record.is_valid(wall_time());
                is_known.then(|| Caller { token: Some(Arc::clone(record)) })
            }
        }
    }

    /// Forgets what was looked up, when a token was made or revoked here.
    pub(crate) fn forget(&self) {
        let mut believed = self.believed();
        let changes = believed.changes + 1;
        *believed = Believed { changes, ..Believed::default() };
    }

    /// Whether there has ever been a token.
    async fn needs_tokens(&self) -> Result<bool, Denied> {
        if self.any_token.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let changes = {
            let believed = self.believed();
            if believed.none_seen.is_some_and(|seen| seen.elapsed() < BELIEVED) {
                return Ok(false);
            }
            believed.changes
        };
        let looked = Instant::now();
        let any = !self.store.token_list().await.map_err(Denied::Store)?.is_empty();
        if any {
            self.any_token.store(true, Ordering::Relaxed);
            return Ok(true);
        }
        let mut believed = self.believed();
        if believed.changes == changes {
            believed.none_seen = Some(looked);
        }
        Ok(false)
    }

    async fn find(&self, hash: &Hash) -> Result<Option<Arc<TokenRecord>>, Denied> {
        let changes = {
            let believed = self.believed();
            if let Some((record, looked)) = believed.tokens.get(&hash.0)
                && looked.elapsed() < BELIEVED
            {
                return Ok(Some(Arc::clone(record)));
            }
            believed.changes
        };
        let looked = Instant::now();
        let found = self.store.token_fetch(hash).await.map_err(Denied::Store)?;
        let Some(record) = found.map(Arc::new) else { return Ok(None) };
        self.any_token.store(true, Ordering::Relaxed);
        let mut believed = self.believed();
        if believed.changes == changes {
            if believed.tokens.len() >= MOST_KNOWN {
                believed.tokens.clear();
            }
            believed.tokens.insert(hash.0, (Arc::clone(&record), looked));
        }
        Ok(Some(record))
    }

    fn believed(&self) -> MutexGuard<'_, Believed> {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what was looked up then is still gone by where the store can't be asked.
fn is_recent(looked: Instant) -> bool {
    looked.elapsed() < LAST_KNOWN
}

/// The hash of the token that a request came with; none if it came without one.
fn presented(headers: &HeaderMap) -> Result<Option<Hash>, Denied> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let first = given.next();
    if given.next().is_some() {
        // Whom it comes from must not depend on which of them somebody reads.
        let detail = "there are several `Authorization` headers";
        return Err(Denied::Refused(Problem::unreadable(detail)));
    }
    let Some(value) = first else { return Ok(None) };
    let text = value.to_str().ok().and_then(|text| text.split_once(' '));
    match text {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
            Ok(Some(Secret::presented(token.trim()).hash()))
        }
        _ => Err(unauthorised("`Authorization` must be `Bearer` and a token")),
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

const MOST_KNOWN: usize = 1_024;
/// Long enough to look at what is wrong with a store. Who was shut out meanwhile is not let in for
/// ever.
const LAST_KNOWN: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use backstop_store::{Home, SqliteStore};

    use super::*;

    struct Bed {
        access: Access,
        store: Arc<dyn Store>,
        _folder: tempfile::TempDir,
    }

    impl Bed {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let opened = SqliteStore::open(&Home::new(folder.path())).await.unwrap();
            let store: Arc<dyn Store> = Arc::new(opened);
            let access = Access::new(Arc::clone(&store), true);
            Self { access, store, _folder: folder }
        }

        /// A new token, as a request comes with it.
        async fn token(&self) -> HeaderMap {
            let secret = new_token().unwrap();
            let record = TokenRecord {
                id: secret.id(),
                name: "ann".to_owned(),
                hash: secret.hash(),
                scopes: [Scope::Read].into(),
                created_by: "a test".to_owned(),
                created_at: wall_time(),
                expires_at: None,
                revoked_at: None,
            };
            self.store.token_put(&record).await.unwrap();
            let bearer = format!("Bearer {}", secret.reveal());
            HeaderMap::from_iter([(header::AUTHORIZATION, bearer.parse().unwrap())])
        }
    }

    #[tokio::test]
    async fn who_came_without_a_token_is_unknown_once_one_was_seen() {
        let bed = Bed::new().await;
        bed.access.caller(&HeaderMap::new()).await.unwrap();
        assert!(bed.access.last_known(&HeaderMap::new()).is_some());
        let known = bed.token().await;
        bed.access.caller(&known).await.unwrap();
        assert!(bed.access.last_known(&known).is_some());
        assert!(bed.access.last_known(&HeaderMap::new()).is_none());
    }

    #[tokio::test]
    async fn nobody_is_known_for_ever() {
        let bed = Bed::new().await;
        let long_ago = Instant::now().checked_sub(LAST_KNOWN);
        bed.access.caller(&HeaderMap::new()).await.unwrap();
        bed.access.believed().none_seen = long_ago;
        assert!(bed.access.last_known(&HeaderMap::new()).is_none());
        let known = bed.token().await;
        bed.access.caller(&known).await.unwrap();
        let hash = presented(&known).unwrap().unwrap();
        bed.access.believed().tokens.get_mut(&hash.0).unwrap().1 = long_ago.unwrap();
        assert!(bed.access.last_known(&known).is_none());
    }
}
