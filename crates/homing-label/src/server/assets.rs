//! The files of the page, which are part of the program.

use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::App;
use super::guard::refuse;

/// Description of the interface.
pub(crate) const OPENAPI: &str = include_str!("../../page/openapi.json");

const PAGE: &str = include_str!("../../page/index.html");

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Name, media type and contents of each file.
const ASSETS: [(&str, &str, &str); 10] = [
    ("page.css", "text/css; charset=utf-8", include_str!("../../page/page.css")),
    ("main.js", SCRIPT, include_str!("../../page/main.js")),
    ("api.js", SCRIPT, include_str!("../../page/api.js")),
    ("map.js", SCRIPT, include_str!("../../page/map.js")),
    ("points.js", SCRIPT, include_str!("../../page/points.js")),
    ("grid.js", SCRIPT, include_str!("../../page/grid.js")),
    ("panels.js", SCRIPT, include_str!("../../page/panels.js")),
    ("card.js", SCRIPT, include_str!("../../page/card.js")),
    ("dom.js", SCRIPT, include_str!("../../page/dom.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../page/icon.svg")),
];

#[derive(Deserialize)]
pub(crate) struct Opened {
    token: Option<String>,
}

/// The page, for somebody who has the token.
pub(crate) async fn page(State(app): State<App>, Query(opened): Query<Opened>) -> Response {
    if !opened.token.is_some_and(|token| app.guard.is_token(&token)) {
        return refuse(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong; open the address that the command prints",
        );
    }
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], PAGE).into_response()
}

pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|(known, ..)| *known == name) {
        Some(&(_, media_type, contents)) => ([(header::CONTENT_TYPE, media_type)], contents).into_response(),
        None => refuse(StatusCode::NOT_FOUND, "there is no such file"),
    }
}
