//! Server-sent events: one for every change that a person can see.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_core::Stream;
use tokio::sync::mpsc;

use super::App;

struct Changes(mpsc::Receiver<Event>);

impl Stream for Changes {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

pub(crate) async fn events(State(app): State<App>) -> impl IntoResponse {
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        let (mut changes, mut stopping) = (app.changes, app.stopping);
        loop {
            let version = *changes.borrow_and_update();
            let labelled = app.shared.lock().board.counts_of_answers().labelled;
            let data = serde_json::json!({ "version": version, "labelled": labelled }).to_string();
            if sender.send(Event::default().event("change").data(data)).await.is_err() {
                return;
            }
            let changed = changes.changed();
            let stopped = stopping.changed();
            // The first of the two that completes counts. Both can be dropped without losing anything.
            let is_over = tokio::select! {
                changed = changed => changed.is_err(),
                _ = stopped => true,
                () = sender.closed() => true,
            };
            if is_over {
                return;
            }
        }
    });
    Sse::new(Changes(receiver)).keep_alive(KeepAlive::default())
}
