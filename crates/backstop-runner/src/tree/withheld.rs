//! Variables that nothing is told that is started: with them it could act as an operator, and let
//! itself go on.

/// The token for a server.
pub const TOKEN: &str = "BACKSTOP_TOKEN";

/// The token for GitHub, and what its webhooks are signed with.
pub const GITHUB_TOKEN: &str = "BACKSTOP_GITHUB_TOKEN";
pub const GITHUB_SECRET: &str = "BACKSTOP_GITHUB_SECRET";

/// The store, which may be named with a password.
pub const STORE: &str = "BACKSTOP_STORE";

/// The password of a database, which is withheld where that is the store.
pub const DATABASE_PASSWORD: &str = "PGPASSWORD";

/// Those that are withheld whatever is started.
pub(super) fn always() -> impl Iterator<Item = &'static str> {
    let store = std::env::var(STORE).is_ok_and(|url| has_password(&url)).then_some(STORE);
    [TOKEN, GITHUB_TOKEN, GITHUB_SECRET].into_iter().chain(store)
}

fn has_password(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    user.contains(':') || query.split('&').any(|pair| pair.starts_with("password="))
}

#[cfg(test)]
mod tests {
    use super::has_password;

    #[test]
    fn a_store_that_is_named_with_its_password_is_told_from_others() {
        for url in [
            "postgres://me:secret@db/x",
            "postgres://me:se@cret@db:5432/x",
            "postgres://db/x?password=secret",
            "postgres://me@db/x?sslmode=require&password=secret",
        ] {
            assert!(has_password(url), "{url}");
        }
        for url in ["postgres://me@db:5432/x", "postgres://db/x?user=me", "/a:b@c", "state"] {
            assert!(!has_password(url), "{url}");
        }
    }
}
