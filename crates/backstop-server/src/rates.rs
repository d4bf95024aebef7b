//! How often somebody may ask.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;

use axum::http::StatusCode;
use backstop_store::audit::Hash;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::problem::Problem;

/// Counts the requests of each token, and of each address without one.
#[derive(Debug)]
pub(crate) struct Rates {
    limiter: Option<DefaultKeyedRateLimiter<Asker>>,
    clock: DefaultClock,
}

/// Whose requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asker {
    Token([u8; 32]),
    Address(IpAddr),
}

impl Asker {
    pub(crate) fn token(hash: &Hash) -> Self {
        Self::Token(hash.0)
    }

    /// Who has one address of version 6 has the whole network around it.
    pub(crate) fn address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(six) => {
                let [a, b, c, d, ..] = six.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            four => four,
        })
    }
}

impl Rates {
    pub(crate) fn new(each_second: Option<NonZeroU32>) -> Self {
        let limiter = each_second.map(|rate| RateLimiter::keyed(Quota::per_second(rate)));
        Self { limiter, clock: DefaultClock::default() }
    }

    pub(crate) fn is_unlimited(&self) -> bool {
        self.limiter.is_none()
    }

    /// Counts a request, or refuses it.
    pub(crate) fn count(&self, asker: Asker) -> Result<(), Problem> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        limiter.check_key(&asker).map_err(|refused| {
            let wait = refused.wait_time_from(self.clock.now());
            let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "TOO_MANY_REQUESTS",
                format!("too many requests; ask again in {seconds} s"),
            )
            .retry_after(seconds)
        })
    }

    /// Forgets those who have not asked for a while.
    pub(crate) fn tidy(&self) {
        if let Some(limiter) = &self.limiter {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }
}
