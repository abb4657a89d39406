use super::*;
use crate::pairing::samples;
