//! How the hub says no: `application/problem+json` with a stable code and a sentence that names the remedy.
//! What a problem means for the action is always the same: nothing was allowed.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use proto::Refusal;
use proto::api::Problem as Wire;
use store::StoreError;

/// The stable codes of problems that are not refusals of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Malformed,
    Unauthorized,
    Forbidden,
    NotFound,
    Method,
    Stale,
    Duplicate,
    Closed,
    Gone,
    TooLarge,
    Unprocessable,
    TooMany,
    Internal,
    Unavailable,
}

impl Code {
    /// Status, code and title, in one table.
    const fn row(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::Malformed => (StatusCode::BAD_REQUEST, "malformed", "The request cannot be read"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", "The credential is not valid"),
            Self::Forbidden => (StatusCode::FORBIDDEN, "forbidden", "Not allowed here"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "Not found"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "method", "The method is not known here"),
            Self::Stale => (StatusCode::CONFLICT, "stale", "Something changed in the meantime"),
            Self::Duplicate => (StatusCode::CONFLICT, "duplicate", "This is already there"),
            Self::Closed => (StatusCode::CONFLICT, "closed", "This is already closed"),
            Self::Gone => (StatusCode::GONE, "gone", "No longer there"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "Too large"),
            Self::Unprocessable => {
                (StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", "The content cannot be taken")
            }
            Self::TooMany => (StatusCode::TOO_MANY_REQUESTS, "too_many", "Too many at once"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "The hub failed"),
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "The hub cannot do this now")
            }
        }
    }
}

/// One refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: Cow<'static, str>,
    stale: Vec<String>,
    retry_after_s: Option<u64>,
}

impl Problem {
    /// A problem with the sentence for a person.
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        let (status, code, title) = code.row();
        Self { status, code, title, detail: detail.into(), stale: Vec::new(), retry_after_s: None }
    }

    /// A proof the checker refused: 400 with the checker's own code and sentence.
    pub(crate) fn refused(refusal: Refusal) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code: refusal.code(),
            title: "The proof is refused",
            detail: Cow::Borrowed(refusal.sentence()),
            stale: Vec::new(),
            retry_after_s: None,
        }
    }

    /// As [`Problem::refused`], with more to say than the fixed sentence.
    pub(crate) fn refused_because(refusal: Refusal, why: &str) -> Self {
        let mut problem = Self::refused(refusal);
        problem.detail = Cow::Owned(format!("{}: {why}", refusal.sentence()));
        problem
    }

    /// 409 with the ids that changed or were answered meanwhile.
    pub(crate) fn stale(ids: Vec<String>) -> Self {
        let mut problem = Self::new(
            Code::Stale,
            "some entries changed or were answered meanwhile; nothing was done; load the inbox again",
        );
        problem.stale = ids;
        problem
    }

    /// 429 with the seconds after which another try can succeed.
    pub(crate) fn too_many(detail: impl Into<Cow<'static, str>>, retry_after_s: u64) -> Self {
        let mut problem = Self::new(Code::TooMany, detail);
        problem.retry_after_s = Some(retry_after_s);
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let wire = Wire {
            kind: "about:blank".to_owned(),
            title: self.title.to_owned(),
            status: self.status.as_u16(),
            code: self.code.to_owned(),
            detail: self.detail.into_owned(),
            stale: self.stale,
        };
        let body = serde_json::to_vec(&wire).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<StoreError> for Problem {
    /// A store that could not: nothing was changed, and the caller may ask again.
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed");
        if matches!(error, StoreError::Full { .. }) {
            Self::new(
                Code::Unavailable,
                "the hub's disk is full; nothing was stored or allowed; free some space",
            )
        } else if matches!(error, StoreError::Busy { .. } | StoreError::Closed) {
            Self::new(
                Code::Unavailable,
                "the hub's database is busy or closing; nothing was stored; try again",
            )
        } else {
            Self::new(Code::Internal, "the hub's database failed; nothing was stored or allowed")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_busy_database_are_503_and_a_damaged_one_500() {
        let full = || StoreError::Full { source: "closed".into() };
        let busy = || StoreError::Busy { source: "closed".into() };
        let damaged = || StoreError::Damaged { what: "a row".to_owned(), source: None };
        for (error, status) in [(full(), 503), (busy(), 503), (StoreError::Closed, 503), (damaged(), 500)] {
            assert_eq!(Problem::from(error).into_response().status().as_u16(), status);
        }
    }
}
