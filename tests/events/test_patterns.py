"""Patterns with names: lines as the programs write them, and what is in them."""

import pytest

from workbench import parse, run
from workbench.errors import InputError
from workbench.events.patterns import LOGFMT, PATTERNS, find_pattern

REQUESTS = parse(
    "pipeline p(status: int, bytes: int, path: str) -> s: int, b: int, p: str { return status, bytes, path }"
)


def groups(name: str, line: str) -> dict[str, str]:
    import re

    found = re.fullmatch(PATTERNS[name], line)
    assert found is not None, line
    return {group: text for group, text in found.groupdict().items() if text}


def test_syslog() -> None:
    line = "Nov 24 03:37:50 web1 sshd[1234]: Failed password for root from 10.0.0.5 port 22 ssh2"
    assert groups("syslog", line) == {
        "time": "Nov 24 03:37:50", "host": "web1", "program": "sshd", "pid": "1234",
        "message": "Failed password for root from 10.0.0.5 port 22 ssh2",
    }  # fmt: skip
    assert groups("syslog", "<34>Nov  4 03:37:50 web1 kernel: [1.5] eth0: up")["message"] == "[1.5] eth0: up"
    assert groups("syslog", "2026-11-24T03:37:50.123456+01:00 web1 postfix/smtpd[7]: x")["program"] == "postfix/smtpd"
    last = groups("syslog", "Nov 24 03:37:50 web1 last message repeated 2 times")
    assert (last["host"], last["message"]) == ("web1", "last message repeated 2 times")
    assert groups("syslog", "Nov 24 03:37:50 web1 (systemd)[1]: a: b")["program"] == "(systemd)"


@pytest.mark.parametrize("name", ["nginx", "apache"])
def test_access_logs(name: str) -> None:
    line = '10.0.0.1 - ann [24/Nov/2026:03:37:50 +0000] "GET /a?b=1 HTTP/1.1" 200 512 "https://x.org/" "Mozilla (X; Y)"'
    assert groups(name, line) == {
        "remote": "10.0.0.1", "ident": "-", "user": "ann", "time": "24/Nov/2026:03:37:50 +0000", "method": "GET",
        "path": "/a?b=1", "protocol": "HTTP/1.1", "status": "200", "bytes": "512", "referer": "https://x.org/",
        "agent": "Mozilla (X; Y)",
    }  # fmt: skip
    assert groups(name, line + " 0.005 upstream")["more"] == "0.005 upstream"
    common = '::1 - - [24/Nov/2026:03:37:50 +0000] "POST / HTTP/1.0" 304 -'
    assert groups(name, common)["bytes"] == "-"
    for request in (r"\x16\x03\x01", "-", "", r"GET /\" HTTP/1.1"):
        odd = groups(name, rf'10.0.0.1 - - [24/Nov/2026:03:37:50 +0000] "{request}" 400 0 "-" "a \"b\" c"')
        assert (odd.get("request", ""), odd["agent"]) == (request, r"a \"b\" c") or odd["path"] == "/\\"


def test_haproxy() -> None:
    """The line is that of HAProxy's manual, section 8.2.3."""
    line = (
        "Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1"
        ' 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"'
    )
    assert groups("haproxy", line) == {
        "pid": "14389", "remote": "10.0.1.2", "port": "33317", "time": "06/Feb/2009:12:14:14.655",
        "frontend": "http-in", "backend": "static", "server": "srv1", "request_ms": "10", "queue_ms": "0",
        "connect_ms": "30", "response_ms": "69", "total_ms": "109", "status": "200", "bytes": "2750", "state": "----",
        "method": "GET", "path": "/index.html", "protocol": "HTTP/1.1",
    }  # fmt: skip
    bad = '10.0.1.2:1 [06/Feb/2009:12:14:14.655] in in/<NOSRV> -1/-1/-1/-1/0 400 187 - - PR-- 1/1/0/0/0 0/0 "<BADREQ>"'
    assert groups("haproxy", bad)["request"] == "<BADREQ>"


def test_a_pattern_by_name_reads_a_log(tmp_path) -> None:
    log = tmp_path / "access.log.1"
    log.write_text(
        '::1 - - [24/Nov/2026:03:37:50 +0000] "GET /a HTTP/1.1" 200 12 "-" "-"\n'
        '::1 - - [24/Nov/2026:03:37:51 +0000] "-" 408 -\n'
    )
    found = run(REQUESTS.get().pipeline, log, pattern="nginx", time="time")
    assert list(found) == [
        {"time": "2026-11-24T03:37:50Z", "s": 200, "b": 12, "p": "/a"}, {"time": "2026-11-24T03:37:51Z", "s": 408},
    ]  # fmt: skip


def test_logfmt_by_name(tmp_path) -> None:
    log = tmp_path / "app.txt"
    log.write_text("status=200 bytes=1 path=/\n")
    assert list(run(REQUESTS.get().pipeline, log, pattern="logfmt")) == [{"s": 200, "b": 1, "p": "/"}]


def test_help_has_all_names(capsys) -> None:
    from workbench.cli.main import main

    main(["run", "--help", "formats"])
    assert ", ".join([*PATTERNS, LOGFMT]) in " ".join(capsys.readouterr().out.split())


def test_names_that_are_none() -> None:
    for name, hint in (("sylog", "'syslog'"), ("ngnix", "'nginx'"), ("logfm", "'logfmt'")):
        with pytest.raises(InputError, match=f"no pattern '{name}'") as found:
            run(REQUESTS.get().pipeline, "x.log", pattern=name)
        assert hint in found.value.hint
    assert find_pattern(r"(?P<x>\d+)") is None
