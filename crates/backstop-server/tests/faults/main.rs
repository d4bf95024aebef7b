//! A store that is killed, cut off, read-only, full or damaged under the load of real requests: what
//! was acknowledged is there, nothing else is, nobody is let go on unrecorded, and when the store
//! is back the service goes on by itself.

mod damage;
mod disk;
mod load;
mod postgres;
#[path = "../http/support.rs"]
#[expect(dead_code, reason = "the tests of routes use the rest")]
mod support;
