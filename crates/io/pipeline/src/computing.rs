//! The processors of predictions.

use predict::Computing;

/// All cores of this system for the clients, and as many for the servers.
pub fn on_this_system() -> Computing {
    let cores = std::thread::available_parallelism()
        .ok()
        .and_then(|cores| u32::try_from(cores.get()).ok());
    Computing {
        client: cores,
        server: cores,
    }
}
