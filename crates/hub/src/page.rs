//! The page's files, embedded, and the headers that keep everything else out of it. Which files there are is written here, one
//! line each; a test compares the list with the folder.

use axum::extract::{Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, STRICT_TRANSPORT_SECURITY};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::problem::{Code, Problem};

/// One file of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        &[$(Asset { name: $name, bytes: include_bytes!(concat!("../../../web/", $name)) }),*]
    };
}

/// Every file that is served.
pub(crate) const ASSETS: &[Asset] = assets![
    "acts.js",
    "api.js",
    "chain.js",
    "deeds.js",
    "detail.js",
    "dom.js",
    "errors.js",
    "history.js",
    "inbox.js",
    "index.html",
    "item.js",
    "json.js",
    "login.js",
    "main.js",
    "plot.js",
    "row.js",
    "rows.css",
    "rules.js",
    "running.js",
    "seal.js",
    "settings.js",
    "sheets.css",
    "sheets.js",
    "show.js",
    "style.css",
    "warn.js",
    "wide.css",
    "words.de.js",
    "words.en.js",
    "words.js",
];

/// What the page may do: its own files, its own hub, nothing in line, nothing foreign, no frame around it, no text made code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of every answer.
static GUARDS: [(HeaderName, &str); 8] = [
    (HeaderName::from_static("content-security-policy"), POLICY),
    (HeaderName::from_static("x-content-type-options"), "nosniff"),
    (HeaderName::from_static("x-frame-options"), "DENY"),
    (HeaderName::from_static("referrer-policy"), "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=(), \
         payment=(), usb=(), serial=(), hid=(), bluetooth=()",
    ),
    (CACHE_CONTROL, "no-store"),
];

/// Puts the guards on an answer, whatever it is.
pub(crate) async fn guard_headers(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in &GUARDS {
        response.headers_mut().insert(name.clone(), HeaderValue::from_static(value));
    }
    if app.config().origin.is_https() {
        let year = HeaderValue::from_static("max-age=31536000");
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, year);
    }
    response
}

/// `GET /`
pub(crate) async fn index() -> Response {
    std::future::ready(file("index.html")).await
}

/// `GET /{asset}`
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    std::future::ready(file(&name)).await
}

fn file(name: &str) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return Problem::new(Code::NotFound, "there is nothing here").into_response();
    };
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind(asset.name)));
    (headers, asset.bytes).into_response()
}

fn kind(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webmanifest" => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_served_and_its_kind_is_known() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web");
        let in_folder: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| kind(name) != kind(""))
            .collect();
        let served: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(served, in_folder);
        assert!(served.contains("index.html"));
    }
}
