//! The one writer of a supervised run.
