//! Who listens on the hub's port, on both loopback addresses.
//!
//! A browser may take either address for `localhost`. A program that holds the one the hub does not could show a
//! page of its own under the hub's name and take machines' tokens. Who it is comes from `/proc`; where there is none, only
//! whether anything answers is told.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use client::Address;

use super::Finding;

/// A loopback connection is made at once or not at all.
const LIMIT: Duration = Duration::from_secs(1);

/// A process that holds a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    pid: u32,
    name: String,
}

pub(super) fn look(hub: &Address, findings: &mut Vec<Finding>) {
    if hub.tls() {
        return;
    }
    let port = hub.port();
    let held = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].map(|ip| {
        let address = SocketAddr::new(ip, port);
        (address, answers(address), holders(address))
    });
    findings.push(judge(&held, port));
}

type Held = (SocketAddr, bool, BTreeSet<Holder>);

fn judge(held: &[Held; 2], port: u16) -> Finding {
    let [(four, four_answers, four_held), (six, six_answers, six_held)] = held;
    if !four_answers && !six_answers {
        let what = format!("nobody listens on port {port}");
        return Finding::bad("listeners", what, "Start the hub: `sealward up`.");
    }
    let strangers = match (four_answers, six_answers) {
        (true, true) => four_held != six_held,
        (true, false) | (false, true) => false,
        (false, false) => {
            return Finding::bad("listeners", "nobody listens", "Start the hub: `sealward up`.");
        }
    };
    if strangers {
        return Finding::bad(
            "listeners",
            format_args!("{four} is held by {}, {six} by {}", names(four_held), names(six_held)),
            "One of them is not the hub and may catch tokens or show another page: stop it, and make new tokens.",
        );
    }
    for (address, answering) in [(four, four_answers), (six, six_answers)] {
        if !answering && has_stack(address.ip()) {
            return Finding::warn(
                "listeners",
                format_args!("nobody holds {address}, so any program could"),
                "Restart the hub: it takes both addresses or does not start.",
            );
        }
    }
    let holder = if four_held.is_empty() { six_held } else { four_held };
    Finding::ok(
        "listeners",
        format_args!("port {port} is held by {} on both loopback addresses", names(holder)),
    )
}

fn names(holders: &BTreeSet<Holder>) -> String {
    if holders.is_empty() {
        return "a process that this user may not see".to_owned();
    }
    holders
        .iter()
        .map(|holder| format!("`{}` (pid {})", holder.name, holder.pid))
        .collect::<Vec<_>>()
        .join(", ")
}

fn answers(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, LIMIT).is_ok()
}

/// Whether this machine has the address at all: a machine without IPv6 has no `::1` for anybody to take.
fn has_stack(ip: IpAddr) -> bool {
    TcpListener::bind(SocketAddr::new(ip, 0)).is_ok()
}

/// The processes that hold a listening socket on this address, or on all of its family; empty where `/proc` does not say.
fn holders(address: SocketAddr) -> BTreeSet<Holder> {
    let (table, wild) = match address.ip() {
        IpAddr::V4(_) => ("/proc/net/tcp", "00000000".to_owned()),
        IpAddr::V6(_) => ("/proc/net/tcp6", "0".repeat(32)),
    };
    let local = in_proc(address.ip());
    let text = fs::read_to_string(table).unwrap_or_default();
    let sockets: BTreeSet<String> = text
        .lines()
        .filter_map(|line| listening(line, address.port()))
        .filter(|(at, _)| *at == local || *at == wild)
        .map(|(_, inode)| format!("socket:[{inode}]"))
        .collect();
    owners(&sockets)
}

/// Address and inode of a line of `/proc/net/tcp`, where it is a listening socket on this port.
fn listening(line: &str, port: u16) -> Option<(String, String)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (ip, at) = fields.get(1)?.split_once(':')?;
    let listens = *fields.get(3)? == "0A" && u16::from_str_radix(at, 16) == Ok(port);
    listens.then(|| Some((ip.to_owned(), (*fields.get(9)?).to_owned())))?
}

/// An address as the kernel writes it: each group of four bytes as a number of this machine's byte order.
fn in_proc(ip: IpAddr) -> String {
    let bytes = match ip {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    bytes
        .chunks_exact(4)
        .map(|group| {
            let group: [u8; 4] = group.try_into().unwrap_or_default();
            format!("{:08X}", u32::from_ne_bytes(group))
        })
        .collect()
}

/// The processes whose open files are among these sockets.
fn owners(sockets: &BTreeSet<String>) -> BTreeSet<Holder> {
    let mut found = BTreeSet::new();
    let Ok(processes) = fs::read_dir("/proc") else { return found };
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(files) = fs::read_dir(process.path().join("fd")) else { continue };
        let holds = files.flatten().any(|file| {
            fs::read_link(file.path())
                .is_ok_and(|target| target.to_str().is_some_and(|name| sockets.contains(name)))
        });
        if holds {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default().trim().to_owned();
            found.insert(Holder { pid, name });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn held(four: Option<u32>, six: Option<u32>) -> [Held; 2] {
        let side = |ip: IpAddr, pid: Option<u32>| {
            let holder = pid.map(|pid| Holder { pid, name: format!("p{pid}") });
            (SocketAddr::new(ip, 8787), pid.is_some(), holder.into_iter().collect())
        };
        [side(IpAddr::V4(Ipv4Addr::LOCALHOST), four), side(IpAddr::V6(Ipv6Addr::LOCALHOST), six)]
    }

    #[test]
    fn one_process_on_both_addresses_is_well_and_two_are_not() {
        assert_eq!(judge(&held(Some(7), Some(7)), 8787).level, Level::Ok);
        let two = judge(&held(Some(7), Some(8)), 8787);
        assert_eq!(two.level, Level::Bad);
        assert!(two.what.contains("`p7` (pid 7)") && two.what.contains("`p8` (pid 8)"), "{}", two.what);
        assert_eq!(judge(&held(None, None), 8787).level, Level::Bad);
        assert_eq!(judge(&held(None, Some(7)), 8787).level, Level::Warn, "this machine has IPv4");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_listener_of_our_own_is_found_by_its_address() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let found = holders(listener.local_addr().unwrap());
        assert_eq!(found.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [std::process::id()]);
        let other = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), listener.local_addr().unwrap().port());
        assert!(holders(other).is_empty());
    }

    #[test]
    fn a_line_of_the_kernels_table_counts_only_when_it_listens() {
        let line = "   0: 0100007F:2253 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0";
        assert_eq!(listening(line, 8787), Some(("0100007F".to_owned(), "4242".to_owned())));
        assert_eq!(listening(line, 8788), None);
        assert_eq!(listening(&line.replace(" 0A ", " 01 "), 8787), None);
    }
}
