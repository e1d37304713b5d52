//! The whole contract from a client through a server to both databases.

use crate::harness::SqliteServer;

mod sqlite {
    ah_conformance::conformance!(super::SqliteServer::new);
}

mod postgres {
    ah_conformance::conformance!(crate::postgres::server);
}
