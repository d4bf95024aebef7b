mod denials;
mod fixtures;
mod told;
mod totals;
mod traps;

use told::{Told, told};
