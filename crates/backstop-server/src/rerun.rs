//! Decides whether failed jobs of a pull request may be run again, with audit.
//!
//! A [`Question`] becomes an answer by [`answer`], which never fails: what can't be found out or
//! recorded is held. [`remake`] makes the same answer again from what the audit keeps.

mod audited;
mod deciding;
mod lawbook;
mod parameters;
mod question;
mod route;

pub use audited::answer;
use audited::held_at_the_door;
pub(crate) use audited::{NO_STORE, held, held_unread};
pub(crate) use deciding::DeploymentEnv;
pub use deciding::{NotMadeAgain, Remaker, remake};
pub use lawbook::{Lawbook, Lawbooks};
pub use question::{NAMELESS, Question, Repository, SignalSource, new_request_id};

pub(crate) use question::actor;
pub use route::stop_decision;

pub(crate) use parameters::request_id_of;
pub(crate) use route::hold_for_store;
