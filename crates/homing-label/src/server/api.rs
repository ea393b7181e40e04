//! The requests about a run.

use std::fmt::Write;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::App;
use super::assets::OPENAPI;
use super::guard::refuse;
use crate::Refusal;
use crate::colours;
use crate::data::{Examples, NotShown, Shown};
use crate::export::{self, ExportFormat};
use crate::log::Event;
use crate::session::Saved;

/// Name of an annotator who gives none.
const NOBODY: &str = "me";

/// Largest number of examples in one answer.
const MOST_NEXT: usize = 100;

/// Longest time to wait for the choice after a skip, and for the first choice of a run.
const PATIENCE: Duration = Duration::from_millis(80);
const FIRST_PATIENCE: Duration = Duration::from_mins(2);

#[derive(Deserialize)]
pub(crate) struct Who {
    annotator: Option<String>,
}

impl Who {
    fn name(&self) -> &str {
        self.annotator.as_deref().unwrap_or(NOBODY)
    }
}

#[derive(Deserialize)]
pub(crate) struct NextQuery {
    count: Option<usize>,
    annotator: Option<String>,
}

/// The body of an answer. `id`, `ids` or `rows` name the examples.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    id: Option<String>,
    ids: Option<Vec<String>>,
    rows: Option<Vec<usize>>,
    label: Option<String>,
    name: Option<String>,
    annotator: Option<String>,
    /// How many of the next examples the response carries.
    next: Option<usize>,
}

impl Given {
    fn parse(body: &[u8]) -> Result<Self, Box<Response>> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        serde_json::from_slice(body).map_err(|error| {
            Box::new(refuse(StatusCode::BAD_REQUEST, &format!("the body is not the JSON that is expected: {error}")))
        })
    }

    /// Returns the ids of the examples, of which `all` has those of the pool.
    fn ids(&mut self, all: &[String]) -> Result<Vec<String>, &'static str> {
        let mut ids = self.ids.take().unwrap_or_default();
        ids.extend(self.id.take());
        for row in self.rows.take().unwrap_or_default() {
            ids.push(all.get(row).ok_or("there is no such row")?.clone());
        }
        Ok(ids)
    }
}

fn of_refusal(refusal: &Refusal) -> Response {
    let status = match refusal {
        Refusal::UnknownId { .. } => StatusCode::NOT_FOUND,
        Refusal::Nothing { .. } => StatusCode::CONFLICT,
        Refusal::NotWritten { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        Refusal::NoIds | Refusal::UnknownClass { .. } | Refusal::BadName { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    };
    refuse(status, &refusal.to_string())
}

fn failed(problem: &str) -> Response {
    refuse(StatusCode::INTERNAL_SERVER_ERROR, problem)
}

/// Runs long work on a thread of its own, so that other requests are served meanwhile.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Box<Response>> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Box::new(failed(&error.to_string())))
}

pub(crate) async fn not_found() -> Response {
    refuse(StatusCode::NOT_FOUND, "there is no such path; /api/openapi.json lists them all")
}

pub(crate) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

pub(crate) async fn state(State(app): State<App>, Query(who): Query<Who>) -> Response {
    match apart(move || app.shared.view(who.name())).await {
        Ok(view) => Json(view).into_response(),
        Err(response) => *response,
    }
}

pub(crate) async fn next(State(app): State<App>, Query(query): Query<NextQuery>) -> Response {
    let count = query.count.unwrap_or(1);
    if !(1..=MOST_NEXT).contains(&count) {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, &format!("count must be from 1 to {MOST_NEXT}"));
    }
    let annotator = query.annotator.unwrap_or_else(|| NOBODY.to_owned());
    match apart(move || next_items(&app, &annotator, count)).await {
        Ok(items) => Json(items).into_response(),
        Err(response) => *response,
    }
}

fn next_items(app: &App, annotator: &str, count: usize) -> Value {
    let is_first = app.shared.lock().chain.picks.is_empty();
    let next = app.shared.next(annotator, count, if is_first { FIRST_PATIENCE } else { PATIENCE });
    let state = app.shared.lock();
    let items: Vec<_> = next
        .picks
        .iter()
        .enumerate()
        .map(|(place, pick)| app.shared.item(&state, pick, place, next.is_provisional))
        .collect();
    json!({ "items": items, "provisional": next.is_provisional, "version": state.version, "failure": state.failure })
}

/// Saves an answer, and responds when it is on the disk.
async fn answer(
    app: App,
    body: Bytes,
    event: impl FnOnce(Vec<String>, &mut Given) -> Result<Event, &'static str>,
) -> Response {
    let mut given = match Given::parse(&body) {
        Ok(given) => given,
        Err(response) => return *response,
    };
    let named = given.ids(&app.shared.data.pool.ids);
    let event = match named.and_then(|ids| event(ids, &mut given)) {
        Ok(event) => event,
        Err(sentence) => return refuse(StatusCode::UNPROCESSABLE_ENTITY, sentence),
    };
    let annotator = given.annotator.clone().unwrap_or_else(|| NOBODY.to_owned());
    let (sender, receiver) = oneshot::channel();
    app.shared.submit(&annotator, event, move |saved| _ = sender.send(saved));
    let saved = receiver.await.unwrap_or_else(|_| Err(Refusal::NotWritten { reason: "the run is closed".into() }));
    let Saved { seq, is_repeated } = match saved {
        Ok(saved) => saved,
        Err(refusal) => return of_refusal(&refusal),
    };
    let count = given.next.unwrap_or(0).min(MOST_NEXT);
    let mut response = json!({ "seq": seq, "repeated": is_repeated });
    if count > 0 {
        match apart(move || next_items(&app, &annotator, count)).await {
            Ok(next) => response["next"] = next,
            Err(refusal) => return *refusal,
        }
    }
    Json(response).into_response()
}

pub(crate) async fn label(State(app): State<App>, body: Bytes) -> Response {
    answer(app, body, |ids, given| {
        let label = given.label.take().ok_or("the label is missing")?;
        Ok(Event::Label { ids, label })
    })
    .await
}

pub(crate) async fn skip(State(app): State<App>, body: Bytes) -> Response {
    answer(app, body, |ids, _| Ok(Event::Skip { ids })).await
}

pub(crate) async fn exclude(State(app): State<App>, body: Bytes) -> Response {
    answer(app, body, |ids, _| Ok(Event::Exclude { ids })).await
}

pub(crate) async fn unsure(State(app): State<App>, body: Bytes) -> Response {
    answer(app, body, |ids, _| Ok(Event::Unsure { ids })).await
}

pub(crate) async fn undo(State(app): State<App>, body: Bytes) -> Response {
    answer(app, body, |_, _| Ok(Event::Undo { of: 0 })).await
}

pub(crate) async fn redo(State(app): State<App>, body: Bytes) -> Response {
    answer(app, body, |_, _| Ok(Event::Redo { of: 0 })).await
}

pub(crate) async fn class(State(app): State<App>, body: Bytes) -> Response {
    answer(app, body, |_, given| Ok(Event::Class { name: given.name.take().ok_or("the name is missing")? })).await
}

/// Takes the labels of an export of Label Studio.
pub(crate) async fn import(State(app): State<App>, Query(who): Query<Who>, body: Bytes) -> Response {
    let shared = app.shared.clone();
    let find = move |text: &str| {
        let data = &shared.data;
        let row = data.row_of(text).or_else(|| {
            (0..data.rows())
                .find(|&row| data.pool.contents.text(row) == Some(text) || data.pool.contents.path(row) == Some(text))
        });
        row.map(|row| data.pool.ids[row].clone())
    };
    let labels = match apart(move || export::import_label_studio(&body, find)).await {
        Ok(Ok(labels)) => labels,
        Ok(Err(problem)) => return refuse(StatusCode::UNPROCESSABLE_ENTITY, &problem),
        Err(response) => return *response,
    };
    let mut added = 0;
    for label in labels {
        let annotator = label.annotator.unwrap_or_else(|| who.name().to_owned());
        let is_new = !app.shared.lock().board.classes().contains(&label.label);
        let class = is_new.then(|| Event::Class { name: label.label.clone() });
        for event in class.into_iter().chain([Event::Label { ids: vec![label.id.clone()], label: label.label.clone() }])
        {
            let (sender, receiver) = oneshot::channel();
            app.shared.submit(&annotator, event, move |saved| _ = sender.send(saved));
            match receiver.await {
                Ok(Ok(saved)) => added += usize::from(!saved.is_repeated && !is_new),
                Ok(Err(refusal)) => return of_refusal(&refusal),
                Err(_) => return failed("the run is closed"),
            }
        }
    }
    Json(json!({ "added": added })).into_response()
}

#[derive(Deserialize)]
pub(crate) struct ExportQuery {
    format: Option<String>,
}

pub(crate) async fn export(State(app): State<App>, Query(query): Query<ExportQuery>) -> Response {
    let Some(format) = ExportFormat::of(query.format.as_deref().unwrap_or("csv")) else {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "format must be csv, jsonl, parquet, label-studio or folders");
    };
    let (media_type, name) = format.file();
    let exported = apart(move || {
        let board = app.shared.lock().board.clone();
        export::export(&board, &app.shared.data, format)
    });
    match exported.await {
        Ok(Ok(bytes)) => {
            let attachment = format!("attachment; filename=\"{name}\"");
            ([(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, attachment)], bytes)
                .into_response()
        }
        Ok(Err(error)) => failed(&error.to_string()),
        Err(response) => *response,
    }
}

/// Sends the report of the run as a file.
pub(crate) async fn report(State(app): State<App>) -> Response {
    match apart(move || app.shared.report()).await {
        Ok(page) => {
            let attachment = "attachment; filename=\"labels.html\"";
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_DISPOSITION, attachment)], page)
                .into_response()
        }
        Err(response) => *response,
    }
}

const BINARY: &str = "application/octet-stream";

/// Sends the positions of the pool's rows, then of the targets: two little-endian 16-bit numbers each.
pub(crate) async fn map(State(app): State<App>) -> Response {
    let made = apart(move || app.shared.map().map(|map| (map.bytes.clone(), map.targets)));
    match made.await {
        Ok(Ok((bytes, targets))) => (
            [
                (header::CONTENT_TYPE, BINARY.to_owned()),
                (header::HeaderName::from_static("x-targets"), targets.to_string()),
            ],
            bytes,
        )
            .into_response(),
        Ok(Err(problem)) => failed(&problem),
        Err(response) => *response,
    }
}

/// Sends the colours of the map, one byte per row of the pool.
pub(crate) async fn colours(State(app): State<App>, Path(colour): Path<String>) -> Response {
    let made = apart(move || match colour.as_str() {
        "label" => Some(Ok(colours::labels(&app.shared))),
        "prediction" => Some(colours::predictions(&app.shared)),
        "information" => Some(colours::information(&app.shared)),
        _ => None,
    });
    match made.await {
        Ok(Some(Ok(bytes))) => ([(header::CONTENT_TYPE, BINARY)], bytes).into_response(),
        Ok(Some(Err(problem))) => refuse(StatusCode::CONFLICT, &problem),
        Ok(None) => refuse(StatusCode::NOT_FOUND, "colours are label, prediction or information"),
        Err(response) => *response,
    }
}

#[derive(Deserialize)]
pub(crate) struct ColumnQuery {
    name: String,
}

/// Sends a column of the pool's table as one byte per row, and what the bytes mean in the header x-legend.
pub(crate) async fn column(State(app): State<App>, Query(query): Query<ColumnQuery>) -> Response {
    let made = apart(move || app.shared.data.pool.coloured(&query.name));
    match made.await {
        Ok(Ok(coloured)) => {
            let legend = serde_json::to_string(&coloured.legend).expect("a legend consists of texts and numbers");
            let name = header::HeaderName::from_static("x-legend");
            ([(header::CONTENT_TYPE, BINARY.to_owned()), (name, ascii(&legend))], coloured.codes).into_response()
        }
        Ok(Err(problem)) => refuse(StatusCode::NOT_FOUND, &problem),
        Err(response) => *response,
    }
}

/// Escapes what a header cannot hold, as JSON does.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if (' '..='~').contains(&c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// Sends an example with the answers about it.
pub(crate) async fn item(State(app): State<App>, Path(row): Path<String>) -> Response {
    let Some(row) = row.parse::<usize>().ok().filter(|&row| row < app.shared.data.rows()) else {
        return refuse(StatusCode::NOT_FOUND, "there is no such row");
    };
    let found = apart(move || {
        let state = app.shared.lock();
        let (data, board) = (&app.shared.data, &state.board);
        let answers = board.decisions().get(&row).map(|decision| &decision.answers[..]).unwrap_or_default();
        let answers: Vec<(String, String)> = answers
            .iter()
            .map(|(by, answer)| (by.clone(), crate::view::answer_name(board.classes(), *answer)))
            .collect();
        json!({
            "id": data.pool.ids[row], "row": row, "text": data.pool.contents.text(row),
            "image": crate::view::image_path(&data.pool, "images", row),
            "answers": answers, "suggestion": app.shared.suggestion(&state, row),
        })
    });
    match found.await {
        Ok(found) => Json(found).into_response(),
        Err(response) => *response,
    }
}

pub(crate) async fn image(State(app): State<App>, Path(row): Path<String>) -> Response {
    shown(app, row, |app| Some(&app.shared.data.pool)).await
}

pub(crate) async fn target_image(State(app): State<App>, Path(row): Path<String>) -> Response {
    shown(app, row, |app| app.shared.data.targets.as_ref()).await
}

/// Sends the image of a row, which is named by its number only, so that no path of the client reaches the disk.
async fn shown(app: App, row: String, of: fn(&App) -> Option<&Examples>) -> Response {
    let Ok(row) = row.parse::<usize>() else { return refuse(StatusCode::NOT_FOUND, "there is no such image") };
    let found = apart(move || of(&app).map_or(Err(NotShown::Unreadable), |examples| examples.contents.show(row))).await;
    match found {
        Ok(Ok(Shown::Image { bytes, media_type })) => ([(header::CONTENT_TYPE, media_type)], bytes).into_response(),
        Ok(Err(NotShown::Outside)) => {
            refuse(StatusCode::FORBIDDEN, "the image lies outside the folder of the pool, so it is not shown")
        }
        Ok(_) => refuse(StatusCode::NOT_FOUND, "there is no such image"),
        Err(response) => *response,
    }
}
