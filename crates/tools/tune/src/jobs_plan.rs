use super::distance::Limits;
use super::search::Thoroughness;
use crate::Shape;
use link::LinkDescription;
use model::Job;
use sys::Target;

#[derive(Debug)]
pub struct JobsPlan<'a> {
    pub target: &'a Target,
    pub shape: Shape,
    pub jobs: &'a [Job],
    /// All methods are tried if empty.
    pub methods: &'a [String],
    /// In addition to the existing distance.
    pub links: &'a [LinkDescription],
    /// Predict the links instead of emulating them.
    pub predict: bool,
    pub runs: u32,
    pub thoroughness: Thoroughness,
    pub limits: Limits<'a>,
}
