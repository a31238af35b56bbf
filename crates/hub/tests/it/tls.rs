//! TLS by the hub itself: what it speaks, and that a renewed certificate needs no restart. The keys in `tests/data` are for these
//! tests alone.
#![cfg(test)]

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use serde_json::Value;
use testkit::Temp;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::house::House;

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Sends one request as somebody who trusts only `certificate`.
fn send(address: SocketAddr, certificate: &str, head: &str, body: &str) -> io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(data(certificate).as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(address)?);
    let request = format!("{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn health(address: SocketAddr, certificate: &str) -> io::Result<String> {
    send(address, certificate, &format!("GET /healthz HTTP/1.1\r\nHost: localhost:{}", address.port()), "")
}

fn use_files(folder: &Temp, name: &str) {
    for kind in ["cert", "key"] {
        std::fs::write(folder.join(format!("{kind}.pem")), data(&format!("{name}.{kind}.pem"))).unwrap();
    }
}

#[test]
fn a_renewed_certificate_is_used_at_once_and_a_broken_one_is_not() {
    let house = House::with_tls(|folder| use_files(folder, "one"));
    let address = house.address;
    assert!(health(address, "one.cert.pem").unwrap().starts_with("HTTP/1.1 200"));
    health(address, "two.cert.pem").unwrap_err();
    use_files(&house.folder, "two");
    assert!(health(address, "two.cert.pem").unwrap().starts_with("HTTP/1.1 200"));
    std::fs::write(house.folder.join("cert.pem"), "no certificate").unwrap();
    assert!(health(address, "two.cert.pem").unwrap().starts_with("HTTP/1.1 200"), "the last good one stays");
    let mut plain = TcpStream::connect(address).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    plain.read_to_end(&mut answer).unwrap();
    assert!(!answer.starts_with(b"HTTP"), "nothing is said in the clear");
}

#[test]
fn with_tls_the_cookie_is_bound_to_its_host() {
    let house = House::with_tls(|folder| use_files(folder, "one"));
    let key = house.key("phone");
    house.pin(&[&key]);
    let post = |path: &str, body: &str| {
        let (host, origin) = (house.origin.strip_prefix("https://").unwrap(), &house.origin);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Type: application/json"
        );
        send(house.address, "one.cert.pem", &head, body).unwrap()
    };
    let start = post("/api/login/start", "{}");
    let start: Value = serde_json::from_str(start.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let finish = post("/api/login/finish", &house.answer_to(&key, &start).to_string());
    let cookie = finish.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(finish.contains("strict-transport-security: max-age=31536000"), "{finish}");
    assert!(cookie.starts_with("__Host-sealward=") && cookie.ends_with("; Secure"), "{cookie}");
}
