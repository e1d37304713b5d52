//! The contract on the oracle itself, with and without workspaces.

use ah_conformance::ModelHarness;
use ah_store::Capabilities;

fn local() -> ModelHarness {
    let workspaces = false;
    ModelHarness::new(Capabilities { workspaces }, 1)
}

fn server() -> ModelHarness {
    let workspaces = true;
    ModelHarness::new(Capabilities { workspaces }, 2)
}

mod without_workspaces {
    ah_conformance::conformance!(super::local);
}

mod with_workspaces {
    ah_conformance::conformance!(super::server);
}
