//! Requests that the server must refuse.

use std::io::{Read, Write};
use std::time::Instant;

use serde_json::json;

use crate::client::{Served, images, texts};

#[test]
fn only_the_token_opens_the_interface_and_the_page() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(40));
    let host = ("Host", &*served.authority);
    for path in
        ["/api/state", "/api/next?count=5", "/api/events", "/api/export?format=csv", "/api/openapi.json", "/api/none"]
    {
        assert_eq!(served.bare("GET", path, &[host], b"").status, 401, "{path}");
        let wrong = ("Authorization", "Bearer 0123456789abcdef0123456789abcdef0123456789abcdef");
        assert_eq!(served.bare("GET", path, &[host, wrong], b"").status, 401, "{path}");
    }
    // A token in the address opens the page, not the interface.
    let with_token = format!("/api/state?token={}", served.token);
    assert_eq!(served.bare("GET", &with_token, &[host], b"").status, 401);
    assert_eq!(served.bare("GET", "/", &[host], b"").status, 401);
    assert_eq!(served.bare("GET", "/?token=1", &[host], b"").status, 401);
    let page = served.bare("GET", &format!("/?token={}", served.token), &[host], b"");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("content-security-policy: default-src 'none'") && page.head.contains("nosniff"));
    assert!(!page.text().contains("http://") && !page.text().contains("https://"), "nothing comes from elsewhere");
}

#[test]
fn other_names_and_other_pages_are_refused() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(40));
    let bearer = format!("Bearer {}", served.token);
    let token = ("Authorization", &*bearer);
    let port = served.authority.rsplit_once(':').unwrap().1.to_owned();
    for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1"] {
        let host = format!("{host}:{port}");
        assert_eq!(served.bare("GET", "/api/state", &[("Host", &host), token], b"").status, 403, "{host}");
    }
    assert_eq!(served.bare("GET", "/api/state", &[token], b"").status, 403, "without a name");
    let body = json!({"id": "row-0", "label": "a"}).to_string();
    for origin in ["http://evil.example", "null", "https://127.0.0.1", "file://"] {
        let headers = [("Host", &*served.authority), token, ("Origin", origin)];
        assert_eq!(served.bare("POST", "/api/labels", &headers, body.as_bytes()).status, 403, "{origin}");
    }
    let own = format!("http://{}", served.authority);
    let headers = [("Host", &*served.authority), token, ("Origin", &own)];
    assert_eq!(served.bare("POST", "/api/labels", &headers, body.as_bytes()).status, 200);
    assert_eq!(served.get("/api/state").json()["counts"]["labelled"], 1);
}

#[cfg(unix)]
#[test]
fn images_outside_the_folder_are_not_shown() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("photos");
    std::fs::create_dir(&root).unwrap();
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0; 40]].concat();
    std::fs::write(root.join("good.png"), &png).unwrap();
    std::fs::write(place.path().join("secret.png"), &png).unwrap();
    std::fs::write(root.join("text.png"), "<script>").unwrap();
    std::os::unix::fs::symlink("../secret.png", root.join("link.png")).unwrap();
    let names = ["good.png", "../secret.png", "link.png", "text.png", "missing.png", "/etc/passwd"];
    let served = Served::start(&place.path().join("run"), images(&root, &names));
    let status = |row: &str| served.get(&format!("/api/images/{row}")).status;
    assert_eq!(["0", "1", "2", "3", "4", "5"].map(status), [200, 403, 403, 404, 404, 403]);
    for path in ["..%2fsecret.png", "../secret.png", "%2e%2e/secret.png", "-1", "99999999999999999999", "good.png"] {
        assert!(matches!(status(path), 404), "{path}");
    }
    for path in ["/assets/..%2f..%2fCargo.toml", "/assets/../main.js", "/../etc/passwd", "/assets/"] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
}

#[test]
fn html_stays_text() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(40));
    let next = served.get("/api/next");
    assert!(next.head.contains("content-type: application/json") && next.head.contains("nosniff"));
    assert!(next.json()["items"][0]["text"].as_str().unwrap().contains("<script>alert(1)</script>"));
    let class = json!({"name": "<img src=x onerror=alert(1)>"});
    assert_eq!(served.post("/api/classes", &class).status, 200);
    for script in ["main.js", "card.js", "panels.js", "dom.js", "map.js", "points.js", "grid.js", "api.js"] {
        let text = served.get(&format!("/assets/{script}")).text();
        for unsafe_way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!text.contains(unsafe_way), "{script} uses {unsafe_way}");
        }
    }
}

#[test]
fn bad_and_large_requests_change_nothing() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(40));
    let large = vec![b' '; 2 << 20];
    let bearer = format!("Bearer {}", served.token);
    let headers = [("Host", &*served.authority), ("Authorization", &*bearer)];
    assert_eq!(served.bare("POST", "/api/labels", &headers, &large).status, 413);
    for (body, status) in [
        ("nonsense", 400),
        (r#"{"id": 5, "label": "a"}"#, 400),
        (r#"{"id": "row-1", "label": "a", "surprise": 1}"#, 400),
        (r#"{"id": "row-1"}"#, 422),
        (r#"{"label": "a"}"#, 422),
        (r#"{"id": "row-1", "label": "none of them"}"#, 422),
        (r#"{"id": "row-1", "label": "a", "annotator": ""}"#, 422),
        (r#"{"id": "row-1", "label": "a", "annotator": "a\nb"}"#, 422),
        (r#"{"id": "row-999", "label": "a"}"#, 404),
    ] {
        let response = served.send("POST", "/api/labels", body);
        assert_eq!(response.status, status, "{body}");
        assert!(response.json()["error"].is_string());
    }
    assert_eq!(served.post("/api/undo", &json!({})).status, 409);
    assert_eq!(served.get("/api/next?count=0").status, 422);
    assert_eq!(served.get("/api/next?count=1000000").status, 422);
    assert_eq!(served.get("/api/export?format=exe").status, 422);
    assert_eq!(served.send("DELETE", "/api/labels", "").status, 405);
    assert_eq!(served.get("/api/state").json()["counts"]["labelled"], 0);
}

#[test]
fn slow_clients_are_let_go_while_others_are_served() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(40));
    let mut slow_header = served.connect();
    slow_header.write_all(b"GET /api/state HTTP/1.1\r\nHost: ").unwrap();
    let mut slow_body = served.connect();
    let head = format!(
        "POST /api/labels HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 100\r\n\r\n{{",
        served.authority, served.token
    );
    slow_body.write_all(head.as_bytes()).unwrap();
    let start = Instant::now();
    assert_eq!(served.get("/api/state").status, 200);
    assert!(start.elapsed().as_secs() < 4, "others do not wait");
    let (mut header, mut body) = (Vec::new(), Vec::new());
    slow_header.read_to_end(&mut header).unwrap();
    slow_body.read_to_end(&mut body).unwrap();
    assert!(String::from_utf8_lossy(&body).contains("408"));
    assert_eq!(served.get("/api/state").json()["counts"]["labelled"], 0);
}
