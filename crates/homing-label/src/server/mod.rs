//! Serves the page and its HTTP interface, by default to this machine only.

mod address;
mod api;
mod assets;
mod guard;
mod stream;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::sync::{Semaphore, watch};

use crate::session::Shared;
use crate::{Error, Result, Session};
use address::ServerAddress;
use guard::Guard;

/// Time that a client has for the header of a request.
const HEADER_TIME: Duration = Duration::from_secs(5);
/// Number of connections that are served at a time; further ones wait.
const CONNECTIONS: usize = 256;
/// Time for open requests to end when the server stops.
const LAST_REQUESTS: Duration = Duration::from_secs(3);
/// Time between two checks whether the server should stop.
const PAUSE: Duration = Duration::from_millis(50);

/// The state that the handlers of all requests share.
#[derive(Clone)]
pub(crate) struct App {
    pub shared: Arc<Shared>,
    pub guard: Arc<Guard>,
    /// Number of the latest change.
    pub changes: watch::Receiver<u64>,
    /// Whether the server is stopping.
    pub stopping: watch::Receiver<bool>,
}

/// A server that is bound to its address.
pub struct Server {
    listener: TcpListener,
    token: String,
}

impl Server {
    /// Binds to an address; port 0 means any free port. The token is random. A run keeps its token, and its port if that is free,
    /// so that a page that is open finds the server again after a restart.
    pub fn bind(run: &Path, address: IpAddr, port: u16) -> Result<Self> {
        let earlier = address::read(run);
        let wanted = if port == 0 { earlier.as_ref().map_or(0, |earlier| earlier.port) } else { port };
        let failed = |action| Error::io(Path::new(&SocketAddr::new(address, port).to_string()), action);
        let bound = TcpListener::bind(SocketAddr::new(address, wanted));
        let again = |error| if wanted == port { Err(error) } else { TcpListener::bind(SocketAddr::new(address, port)) };
        let listener = bound.or_else(again).map_err(failed("listened on"))?;
        listener.set_nonblocking(true).map_err(failed("listened on"))?;
        let port = listener.local_addr().map_err(failed("listened on"))?.port();
        let token = match earlier {
            Some(earlier) => earlier.token,
            None => address::new_token().map_err(failed("protected by a token"))?,
        };
        address::write(run, &ServerAddress { port, token: token.clone() })?;
        Ok(Self { listener, token })
    }

    /// Returns the address to open in a browser, with the token.
    pub fn address(&self) -> String {
        let at = self.listener.local_addr().map_or_else(|_| String::new(), |at| at.to_string());
        format!("http://{at}/?token={}", self.token)
    }

    /// Serves a run until `stop` returns true, and then finishes the open requests.
    pub fn run(self, session: &Session, stop: impl Fn() -> bool) -> Result<()> {
        let failed = |source: io::Error| Error::Io { path: "the server".into(), action: "run", source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let outcome = runtime.block_on(self.serve(session, stop)).map_err(failed);
        runtime.shutdown_timeout(LAST_REQUESTS);
        outcome
    }

    async fn serve(self, session: &Session, stop: impl Fn() -> bool) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let (changed, changes) = watch::channel(0);
        let shared = Arc::clone(session.shared());
        shared.listen(Box::new(move |version| _ = changed.send_replace(version)));
        let (stopped, stopping) = watch::channel(false);
        let guard = Arc::new(Guard::new(listener.local_addr()?, self.token));
        // The map takes a while with a large pool, so it is there before the page asks for it.
        let mapped = Arc::clone(&shared);
        tokio::task::spawn_blocking(move || _ = mapped.map());
        let router = router(App { shared, guard, changes, stopping });
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(64 << 10);
        while !stop() {
            let place = Arc::clone(&places).acquire_owned();
            let accepted = async { (place.await, listener.accept().await) };
            let Ok((Ok(place), accepted)) = tokio::time::timeout(PAUSE, accepted).await else { continue };
            // A connection that fails at once is the client's business.
            let Ok((connection, _)) = accepted else { continue };
            let _ = connection.set_nodelay(true);
            let service = TowerToHyperService::new(router.clone());
            let served = graceful.watch(builder.serve_connection(TokioIo::new(connection), service));
            tokio::spawn(async move {
                let _ = served.await;
                drop(place);
            });
        }
        let _ = stopped.send(true);
        let _ = tokio::time::timeout(LAST_REQUESTS, graceful.shutdown()).await;
        Ok(())
    }
}

/// Every path and method, which `openapi.json` describes.
#[cfg(test)]
const ROUTES: [(&str, &str); 20] = [
    ("/api/state", "get"),
    ("/api/next", "get"),
    ("/api/labels", "post"),
    ("/api/skip", "post"),
    ("/api/exclude", "post"),
    ("/api/unsure", "post"),
    ("/api/undo", "post"),
    ("/api/redo", "post"),
    ("/api/classes", "post"),
    ("/api/import", "post"),
    ("/api/events", "get"),
    ("/api/export", "get"),
    ("/api/report", "get"),
    ("/api/map", "get"),
    ("/api/map/{colour}", "get"),
    ("/api/columns", "get"),
    ("/api/items/{row}", "get"),
    ("/api/images/{row}", "get"),
    ("/api/targets/{row}", "get"),
    ("/api/openapi.json", "get"),
];

fn router(app: App) -> Router {
    Router::new()
        .route("/", get(assets::page))
        .route("/assets/{name}", get(assets::asset))
        .route("/api/state", get(api::state))
        .route("/api/next", get(api::next))
        .route("/api/labels", post(api::label))
        .route("/api/skip", post(api::skip))
        .route("/api/exclude", post(api::exclude))
        .route("/api/unsure", post(api::unsure))
        .route("/api/undo", post(api::undo))
        .route("/api/redo", post(api::redo))
        .route("/api/classes", post(api::class))
        .route("/api/import", post(api::import))
        .route("/api/events", get(stream::events))
        .route("/api/export", get(api::export))
        .route("/api/report", get(api::report))
        .route("/api/map", get(api::map))
        .route("/api/map/{colour}", get(api::colours))
        .route("/api/columns", get(api::column))
        .route("/api/items/{row}", get(api::item))
        .route("/api/images/{row}", get(api::image))
        .route("/api/targets/{row}", get(api::target_image))
        .route("/api/openapi.json", get(api::openapi))
        .fallback(api::not_found)
        .layer(axum::middleware::from_fn_with_state(app.clone(), guard::check))
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_openapi_document_describes_exactly_the_routes() {
        let document: serde_json::Value = serde_json::from_str(assets::OPENAPI).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let mut described: Vec<(String, String)> = paths
            .iter()
            .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |m| (path.clone(), m.clone())))
            .collect();
        let mut routes: Vec<(String, String)> = ROUTES.iter().map(|&(path, m)| (path.into(), m.into())).collect();
        described.sort();
        routes.sort();
        assert_eq!(described, routes);
    }
}
