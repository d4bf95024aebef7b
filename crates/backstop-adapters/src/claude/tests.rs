mod denials;
mod fixtures;
mod refuted;
mod rejected;
mod told;
mod totals;
mod traps;

use told::{Told, told};
