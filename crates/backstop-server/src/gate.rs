//! From where requests may come: checked before anything else is looked at.
//!
//! A page in a browser can make it send requests to this machine. It can't choose the name under
//! which the request says it came (`Host`), nor hide whose page it was (`Origin`).

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};

use crate::options::ServeOptions;
use crate::problem::Problem;

/// The names under which this service is known.
#[derive(Debug)]
pub(crate) struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// It listens at every address of this machine, so that it can be reached by each of them.
    is_everywhere: bool,
}

impl Gate {
    pub(crate) fn new(options: &ServeOptions) -> Self {
        let mut hosts: Vec<String> =
            ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().collect();
        if !options.address.ip().is_unspecified() {
            hosts.push(options.address.ip().to_string());
        }
        hosts.extend(options.allowed_hosts.iter().map(|host| name_of(host).to_lowercase()));
        let origins = options.allowed_origins.iter();
        let origins = origins.map(|origin| origin.trim_end_matches('/').to_lowercase()).collect();
        let is_everywhere = options.address.ip().is_unspecified();
        Self { hosts, origins, is_everywhere }
    }

    /// Refuses what no client of ours sends. `local` is the address that the connection came to.
    pub(crate) fn check<B>(
        &self,
        request: &Request<B>,
        local: Option<IpAddr>,
    ) -> Result<(), Problem> {
        let headers = request.headers();
        let host = match OPEN_TO_ALL.contains(&request.uri().path()) {
            // Whoever watches it may call it as they like, and learns nothing but that it is there.
            true => single(headers, header::HOST.as_str(), "Host")?.unwrap_or_default(),
            false => self.check_host(request, local)?,
        };
        let known_origin = match single(headers, header::ORIGIN.as_str(), "Origin")? {
            None => false,
            Some(origin) if self.is_ours(origin, host) => true,
            Some(_) => {
                return Err(refused_origin("pages of other origins can't ask this service"));
            }
        };
        let is_safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        if !is_safe && !known_origin {
            let site = single(headers, "sec-fetch-site", "Sec-Fetch-Site")?;
            if !matches!(site, None | Some("same-origin" | "none")) {
                return Err(refused_origin("pages of other sites can't change anything here"));
            }
        }
        if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
            && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
        {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UNSUPPORTED_ENCODING",
                "bodies are taken as they are; leave `Content-Encoding` out",
            ));
        }
        Ok(())
    }

    fn check_host<'a, B>(
        &self,
        request: &'a Request<B>,
        local: Option<IpAddr>,
    ) -> Result<&'a str, Problem> {
        let host = single(request.headers(), header::HOST.as_str(), "Host")?
            .ok_or_else(|| Problem::unreadable("the `Host` header is missing"))?;
        // A whole URL in the first line stands above the header.
        let authority = request.uri().authority().map(axum::http::uri::Authority::as_str);
        for name in [Some(host), authority].into_iter().flatten() {
            if !self.knows(name_of(name), local) {
                return Err(Problem::new(
                    StatusCode::MISDIRECTED_REQUEST,
                    "UNKNOWN_HOST",
                    "this service is not known under that name; it is told its names by \
                     `--allow-host`",
                ));
            }
        }
        Ok(host)
    }

    fn knows(&self, name: &str, local: Option<IpAddr>) -> bool {
        // No page can make a browser call a name an address, so an address of this machine is good.
        let is_local = || {
            let named = name.parse::<IpAddr>().ok().map(|address| address.to_canonical());
            named.is_some() && named == local.map(|address| address.to_canonical())
        };
        self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
            || self.is_everywhere && is_local()
    }

    /// The origin of a request that a page of an allowed one has sent, as it was written.
    pub(crate) fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.origins.is_empty() {
            return None;
        }
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?;
        let is_allowed = self.origins.iter().any(|known| known.eq_ignore_ascii_case(text));
        is_allowed.then(|| origin.clone())
    }

    fn is_ours(&self, origin: &str, host: &str) -> bool {
        let own = origin.split_once("://").is_some_and(|(scheme, place)| {
            matches!(scheme, "http" | "https") && place.eq_ignore_ascii_case(host)
        });
        own || self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
    }
}

/// A header that may be there once at most.
fn single<'a>(headers: &'a HeaderMap, key: &str, shown: &str) -> Result<Option<&'a str>, Problem> {
    let mut all = headers.get_all(key).iter();
    let Some(first) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(Problem::unreadable(format!("there are several `{shown}` headers")));
    }
    let unreadable = |_| Problem::unreadable(format!("the `{shown}` header can't be read"));
    first.to_str().map(Some).map_err(unreadable)
}

fn refused_origin(detail: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "FOREIGN_ORIGIN", detail)
}

/// The name in `name:port`, without the brackets of an address of version 6.
fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(host, |(name, _)| name);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => {
            name
        }
        _ => host,
    }
}

/// What tells whoever asks whether the service is there.
const OPEN_TO_ALL: [&str; 2] = ["/healthz", "/readyz"];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn check(method: &str, headers: &[(&str, &str)]) -> u16 {
        let options = ServeOptions {
            allowed_hosts: vec!["Stops.example:443".to_owned()],
            allowed_origins: vec!["https://board.example/".to_owned()],
            ..ServeOptions::default()
        };
        let mut request = Request::builder().method(method).uri("/v1/runs");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let checked = Gate::new(&options).check(&request.body(()).unwrap(), None);
        checked.map_or_else(|problem| problem.status().as_u16(), |()| 200)
    }

    #[rstest]
    #[case("localhost:7878", 200)]
    #[case("LOCALHOST", 200)]
    #[case("127.0.0.1", 200)]
    #[case("[::1]:7878", 200)]
    #[case("stops.example", 200)]
    #[case("evil.example", 421)]
    #[case("localhost.evil.example", 421)]
    #[case("127.0.0.1.evil.example:7878", 421)]
    #[case("[::1", 421)]
    #[case("localhost:x", 421)]
    #[case("", 421)]
    fn only_known_names_are_let_in(#[case] host: &str, #[case] status: u16) {
        assert_eq!(check("GET", &[("host", host)]), status);
    }

    #[rstest]
    #[case("http://localhost:7878", 200)]
    #[case("https://board.example", 200)]
    #[case("http://localhost:3000", 403)]
    #[case("https://evil.example", 403)]
    #[case("ftp://localhost:7878", 403)]
    #[case("null", 403)]
    fn only_known_origins_are_let_in(#[case] origin: &str, #[case] status: u16) {
        for method in ["GET", "POST"] {
            assert_eq!(check(method, &[("host", "localhost:7878"), ("origin", origin)]), status);
        }
    }

    #[rstest]
    #[case("GET", "cross-site", 200)]
    #[case("POST", "cross-site", 403)]
    #[case("DELETE", "same-site", 403)]
    #[case("POST", "same-origin", 200)]
    #[case("POST", "none", 200)]
    fn other_sites_change_nothing(#[case] method: &str, #[case] site: &str, #[case] status: u16) {
        assert_eq!(check(method, &[("host", "localhost"), ("sec-fetch-site", site)]), status);
    }

    #[test]
    fn a_request_without_one_clear_name_is_refused() {
        assert_eq!(check("GET", &[]), 400);
        assert_eq!(check("GET", &[("host", "localhost"), ("host", "evil.example")]), 400);
        let absolute = Request::builder().uri("http://evil.example/").header("host", "localhost");
        let refused = Gate::new(&ServeOptions::default()).check(&absolute.body(()).unwrap(), None);
        assert_eq!(refused.unwrap_err().status().as_u16(), 421);
    }

    #[rstest]
    #[case("[::]:7878", "192.0.2.7:7878", "::ffff:192.0.2.7", 200)]
    #[case("0.0.0.0:7878", "192.0.2.7", "192.0.2.7", 200)]
    #[case("[::]:7878", "[2001:db8::7]:7878", "2001:db8::7", 200)]
    #[case("[::]:7878", "192.0.2.8:7878", "192.0.2.7", 421)]
    #[case("[::]:7878", "evil.example", "192.0.2.7", 421)]
    #[case("192.0.2.9:7878", "192.0.2.7", "192.0.2.7", 421)]
    fn who_listens_everywhere_is_known_by_the_address_that_was_called(
        #[case] listens: &str,
        #[case] host: &str,
        #[case] local: &str,
        #[case] status: u16,
    ) {
        let gate = Gate::new(&ServeOptions::new(listens.parse().unwrap()));
        let request = Request::builder().uri("/v1/runs").header("host", host).body(()).unwrap();
        let checked = gate.check(&request, Some(local.parse().unwrap()));
        assert_eq!(checked.map_or_else(|problem| problem.status().as_u16(), |()| 200), status);
    }

    #[test]
    fn who_watches_may_call_it_as_they_like() {
        let gate = Gate::new(&ServeOptions::default());
        for path in ["/healthz", "/readyz"] {
            let request = Request::builder().uri(path).header("host", "any.example");
            assert!(gate.check(&request.body(()).unwrap(), None).is_ok(), "{path}");
            let page = Request::builder().uri(path).header("host", "any.example");
            let page = page.header("origin", "https://evil.example").body(()).unwrap();
            assert_eq!(gate.check(&page, None).unwrap_err().status().as_u16(), 403, "{path}");
        }
    }

    #[test]
    fn compressed_bodies_are_not_taken() {
        let host = ("host", "localhost");
        assert_eq!(check("POST", &[host, ("content-encoding", "gzip")]), 415);
        assert_eq!(check("POST", &[host, ("content-encoding", "identity")]), 200);
    }
}
