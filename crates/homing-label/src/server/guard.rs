//! Decides which requests are allowed: those with the token, to a name of this server, that do not come from another page.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::App;

/// Largest body of a request, in bytes.
const LARGEST_BODY: usize = 1 << 20;
/// Largest body of an import.
const LARGEST_IMPORT: usize = 64 << 20;
/// Time that a client has for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(5);

/// Headers of every response. Nothing may be loaded from elsewhere, and no other page may show this one.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// The token and the names that a request must use.
pub(crate) struct Guard {
    at: SocketAddr,
    token: String,
}

/// A refusal as JSON with one sentence.
pub(crate) fn refuse(status: StatusCode, sentence: &str) -> Response {
    (status, Json(json!({ "error": sentence }))).into_response()
}

impl Guard {
    pub fn new(at: SocketAddr, token: String) -> Self {
        Self { at, token }
    }

    /// Whether a name with a port, as in `Host`, is this server. If it listens on all addresses, any number of an address is,
    /// but no other name, which could be made to point here.
    fn is_own(&self, authority: &str) -> bool {
        let port = self.at.port().to_string();
        let Some(name) = authority.strip_suffix(port.as_str()).and_then(|rest| rest.strip_suffix(':')) else {
            return false;
        };
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        match address {
            Ok(address) => address == self.at.ip() || address.is_loopback() || self.at.ip().is_unspecified(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Compares all bytes, so that the time does not tell how many are right.
    pub fn is_token(&self, given: &str) -> bool {
        let (given, token) = (given.as_bytes(), self.token.as_bytes());
        given.len() == token.len() && given.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }

    /// Returns the refusal of a request that does not come from the page or a script with the token.
    fn refusal(&self, headers: &HeaderMap, uri: &Uri) -> Option<Response> {
        let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let host = uri.authority().map(axum::http::uri::Authority::as_str).or(text(header::HOST));
        if !host.is_some_and(|host| self.is_own(host)) {
            return Some(refuse(StatusCode::FORBIDDEN, "this server does not answer under that name"));
        }
        if let Some(origin) = text(header::ORIGIN)
            && !origin.strip_prefix("http://").is_some_and(|origin| self.is_own(origin))
        {
            return Some(refuse(StatusCode::FORBIDDEN, "other pages may not use this server"));
        }
        if !uri.path().starts_with("/api") {
            return None;
        }
        let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if !bearer.is_some_and(|token| self.is_token(token.trim())) {
            let mut response = refuse(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong; it is in the address that the command prints",
            );
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Some(response);
        }
        None
    }
}

/// Refuses requests that are not allowed, reads the body within its limits, and adds the headers of every response.
pub(crate) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = match app.guard.refusal(request.headers(), request.uri()) {
        Some(refusal) => refusal,
        None => match with_body(request).await {
            Ok(request) => next.run(request).await,
            Err(refusal) => refusal,
        },
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn with_body(request: Request) -> Result<Request, Response> {
    let (parts, body) = request.into_parts();
    let most = if parts.uri.path() == "/api/import" { LARGEST_IMPORT } else { LARGEST_BODY };
    let announced =
        parts.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let too_large = || refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
    if announced.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, to_bytes(body, most)).await {
        Err(_) => Err(refuse(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive")),
        Ok(Err(_)) => Err(too_large()),
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_names_are_answered() {
        let guard = |at: &str| Guard::new(at.parse().unwrap(), "secret".into());
        let local = guard("127.0.0.1:8080");
        for own in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"] {
            assert!(local.is_own(own), "{own}");
        }
        for other in ["127.0.0.1", "127.0.0.1:8081", "evil.example:8080", "192.168.1.9:8080", "localhost.evil:8080", ""]
        {
            assert!(!local.is_own(other), "{other}");
        }
        let all = guard("0.0.0.0:8080");
        assert!(all.is_own("192.168.1.9:8080") && !all.is_own("evil.example:8080"));
        assert!(all.is_token("secret") && !all.is_token("secreT") && !all.is_token("") && !all.is_token("secret2"));
    }
}
