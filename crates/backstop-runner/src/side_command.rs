//! side_command
