mod denials;
mod fixtures;
mod refuted;
mod told;
mod totals;
mod traps;

use told::{Told, told};
