//! The table of routes and the router made from it.

use axum::Router;
use axum::routing::get;

use crate::app::App;

pub(crate) fn router(app: &App) -> Router {
    Router::new().route("/healthz", get(async || r#"{"status":"ok"}"#)).with_state(app.clone())
}
