//! Names of servers, looked up on the calling thread.
//!
//! ureq looks a name up before every request, and where a request has a time limit it starts a
//! thread for that, and panics when there is none to be had. On the loopback of two busy cores a
//! request took about 1 ms with the thread and 40 µs without. The system's own limits hold instead,
//! for names; an address in numbers waits for nobody.

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

#[derive(Debug, Default)]
pub(crate) struct CallersResolver(DefaultResolver);

impl Resolver for CallersResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        self.0.resolve(uri, config, NextTimeout::default())
    }
}
