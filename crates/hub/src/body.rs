//! Reading what came: JSON bodies, query and path, and writing JSON back. Whatever cannot be read is a problem of ours with a
//! sentence, never a framework's page. What the values mean is the handlers' business.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::{Code, Problem};

/// A JSON body of exactly this type.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

/// The body of routes that take nothing: `{}`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let json =
            request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(is_json);
        if !json {
            return Err(Problem::new(Code::Malformed, "send the body as `content-type: application/json`"));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| unreadable(&rejection))?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Problem::new(Code::Unprocessable, "the body is not UTF-8; nothing was stored"))?;
        serde_json::from_str(text).map(Body).map_err(|error| {
            Problem::new(Code::Malformed, format!("the body is not what this route takes: {error}"))
        })
    }
}

fn is_json(value: &str) -> bool {
    let kind = value.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn unreadable(rejection: &BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        Problem::new(Code::TooLarge, "the body is larger than this route takes; nothing was stored")
    } else {
        Problem::new(Code::Malformed, "the body did not come whole; nothing was stored")
    }
}

/// A query of exactly this type.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(error) => Err(Problem::new(
                Code::Malformed,
                format!("the query is not what this route takes: {}", error.body_text()),
            )),
        }
    }
}

/// The `{id}` of the path.
#[derive(Debug)]
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::<String>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(id)) => Ok(Self(id)),
            Err(_) => Err(Problem::new(Code::NotFound, "there is nothing of that id")),
        }
    }
}

/// A JSON answer.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => {
                ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response()
            }
            Err(error) => {
                tracing::error!(%error, "an answer cannot be written as JSON");
                Problem::new(Code::Internal, "the answer could not be written").into_response()
            }
        }
    }
}

/// What handlers return.
pub(crate) type Answer<T> = Result<Json<T>, Problem>;
