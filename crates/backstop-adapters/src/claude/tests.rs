mod denials;
mod fixtures;
mod told;
mod traps;

use told::{Told, told};
