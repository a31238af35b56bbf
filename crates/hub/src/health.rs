//! Whether the hub can do its work: its database takes a write. Nothing else is said, for nobody was asked who they are.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use crate::app::App;
use crate::body::Json;

/// `GET /healthz`
#[derive(Debug, Serialize)]
pub(crate) struct Health {
    status: &'static str,
}

/// `GET /healthz`
pub(crate) async fn healthz(State(app): State<App>) -> (StatusCode, Json<Health>) {
    match app.store().check().await {
        Ok(()) => (StatusCode::OK, Json(Health { status: "ok" })),
        Err(error) => {
            tracing::warn!(%error, "the hub is not healthy");
            (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "unavailable" }))
        }
    }
}
