//! Whether a proxy stands between us and the server, as the environment says.

use http::Uri;
use std::net::{IpAddr, Ipv4Addr};

/// `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in either case.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProxyVariables {
    pub(crate) https: Option<String>,
    pub(crate) http: Option<String>,
    pub(crate) exceptions: Option<String>,
}

impl ProxyVariables {
    /// Those of this process; the upper-case ones win.
    pub(crate) fn of_process() -> Self {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let either = |upper: &str| read(upper).or_else(|| read(&upper.to_lowercase()));
        Self { https: either("HTTPS_PROXY"), http: either("HTTP_PROXY"), exceptions: either("NO_PROXY") }
    }

    /// The proxy to use for that server: none for this machine itself and for what `NO_PROXY` lists. A proxy
    /// address that makes no sense is no proxy.
    pub(crate) fn for_server(&self, server: &Uri) -> Option<Uri> {
        let proxy = if server.scheme_str() == Some("http") { &self.http } else { &self.https }.as_deref()?;
        let host = server.host()?.trim_matches(['[', ']']);
        if host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
            return None;
        }
        let exceptions = self.exceptions.as_deref().unwrap_or_default();
        if exceptions.split(',').map(str::trim).any(|exception| is_excepted(host, server, exception)) {
            return None;
        }
        let whole = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
        whole.parse().ok()
    }
}

/// One entry of `NO_PROXY`: `*`, an address, a network `10.0.0.0/8`, a domain (which covers its subdomains), any of
/// them with a port.
fn is_excepted(host: &str, server: &Uri, exception: &str) -> bool {
    if exception == "*" {
        return true;
    }
    if let Some((network, bits)) = exception.split_once('/') {
        return match (network.parse(), bits.parse::<u32>(), host.parse()) {
            (Ok(network), Ok(bits @ 0..=32), Ok(host)) => same_network(network, host, bits),
            _ => false,
        };
    }
    let (name, port) = match exception.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') => (name, port.parse::<u16>().ok()),
        _ => (exception, None),
    };
    if port.is_some() && port != server.port_u16() {
        return false;
    }
    let name =
        name.strip_prefix("*.").or_else(|| name.strip_prefix('.')).unwrap_or(name).to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    !name.is_empty() && (host == name || host.strip_suffix(&name).is_some_and(|front| front.ends_with('.')))
}

fn same_network(network: Ipv4Addr, host: Ipv4Addr, bits: u32) -> bool {
    // A shift by all 32 bits leaves nothing to compare.
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    u32::from(network) & mask == u32::from(host) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_and_this_machine_need_no_proxy() {
        let variables = ProxyVariables {
            https: Some("proxy.example:3128".to_owned()),
            http: None,
            exceptions: Some("10.0.0.0/8, .corp.example,exact.org:6443".to_owned()),
        };
        let used = |server: &str| variables.for_server(&server.parse().unwrap()).is_some();
        assert!(used("https://1.2.3.4:6443"));
        assert!(used("https://exact.org:443"));
        assert!(used("https://evilcorp.example"));
        assert!(!used("https://10.200.0.1"));
        assert!(!used("https://api.corp.example:6443"));
        assert!(!used("https://exact.org:6443"));
        assert!(!used("https://127.0.0.1:6443"));
        assert!(!used("https://[::1]:6443"));
        assert!(!used("https://localhost:6443"));
        assert!(!used("http://1.2.3.4"));
        assert!(same_network(Ipv4Addr::new(9, 9, 9, 9), Ipv4Addr::new(1, 1, 1, 1), 0));
    }
}
