//! Where to listen: addresses, and sockets that systemd hands over.
//!
//! Must not accept.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    str::FromStr,
};

use listenfd::ListenFd;

/// What `--listen` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// `HOST:PORT`; every address where there is no host.
    Tcp(String),
    /// `fd://`: all sockets that systemd has opened.
    Systemd,
}

/// A place cannot be listened at.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(
        "cannot listen on {address}: the port is in use, maybe by another iotrace \
         (`ss -ltnp` says by whom): stop that, or give another with --listen"
    )]
    InUse { address: String },
    #[error("cannot listen on {address}{}", hint(source))]
    Tcp {
        address: String,
        #[source]
        source: io::Error,
    },
    #[error(
        "--listen fd://: systemd has handed over no socket: it belongs into a service that a \
         .socket unit starts"
    )]
    NoSocket,
    #[error("--listen fd://: socket {index} is none that takes TCP connections")]
    NotTcp {
        index: usize,
        #[source]
        source: io::Error,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            " (a port below 1024 needs root or CAP_NET_BIND_SERVICE)"
        }
        io::ErrorKind::AddrNotAvailable => " (no interface of this host has it)",
        _ => "",
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected HOST:PORT, :PORT, [ADDRESS]:PORT or fd://";
        if text == "fd://" {
            return Ok(Self::Systemd);
        }
        let (host, port) = text.rsplit_once(':').ok_or(EXPECTED)?;
        let port: u16 = port.parse().map_err(|_not_a_port| EXPECTED)?;
        let bare_v6 = host.contains(':') && !host.starts_with('[');
        if bare_v6 {
            return Err(EXPECTED.to_owned());
        }
        let host = if host.is_empty() { "[::]" } else { host };
        Ok(Self::Tcp(format!("{host}:{port}")))
    }
}

/// Sockets to accept connections from.
#[derive(Debug)]
pub struct Listeners(Vec<TcpListener>);

impl Listeners {
    /// Opens them all.
    ///
    /// # Errors
    /// At the first that cannot be.
    pub fn open(addresses: &[ListenAddress]) -> Result<Self, ListenError> {
        let mut listeners = Vec::new();
        for address in addresses {
            match address {
                ListenAddress::Tcp(address) => listeners.push(bind(address)?),
                ListenAddress::Systemd => from_systemd(&mut listeners)?,
            }
        }
        Ok(Self(listeners))
    }

    /// Where they listen; a port of 0 has become one.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.0.iter().filter_map(|one| one.local_addr().ok());
        addresses.collect()
    }

    pub(super) fn into_inner(self) -> Vec<TcpListener> {
        self.0
    }
}

fn bind(address: &str) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse {
            address: address.to_owned(),
        },
        _ => ListenError::Tcp {
            address: address.to_owned(),
            source,
        },
    })
}

fn from_systemd(listeners: &mut Vec<TcpListener>) -> Result<(), ListenError> {
    let mut handed = ListenFd::from_env();
    if handed.len() == 0 {
        return Err(ListenError::NoSocket);
    }
    for index in 0..handed.len() {
        let listener = handed
            .take_tcp_listener(index)
            .map_err(|source| ListenError::NotTcp { index, source })?;
        listeners.extend(listener);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let tcp = |text: &str| Ok(ListenAddress::Tcp(text.to_owned()));
        assert_eq!("127.0.0.1:19127".parse(), tcp("127.0.0.1:19127"));
        assert_eq!(":19127".parse(), tcp("[::]:19127"));
        assert_eq!("[::1]:0".parse(), tcp("[::1]:0"));
        assert_eq!("host.example:80".parse(), tcp("host.example:80"));
        assert_eq!("fd://".parse(), Ok(ListenAddress::Systemd));
        for bad in ["", "19127", "::1:19127", "host:", "host:70000", "fd://3"] {
            assert!(bad.parse::<ListenAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_port_in_use_says_what_to_do() {
        let any = ["127.0.0.1:0".parse().unwrap()];
        let first = Listeners::open(&any).unwrap();
        let taken = ListenAddress::Tcp(first.addresses()[0].to_string());
        let error = Listeners::open(&[taken]).unwrap_err().to_string();
        assert!(error.contains("the port is in use"), "{error}");
        assert!(error.contains("--listen"), "{error}");
    }
}
