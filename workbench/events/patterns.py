"""Named patterns for the lines of well-known logs.

The rule of this module: a pattern is one regular expression, whose groups are named after their content; `-` is an
empty cell. Sources: RFC 3164; the combined formats of nginx (`log_format combined`) and Apache (`mod_log_config`); the
HTTP format of HAProxy ("option httplog").
"""

from __future__ import annotations

import re

from workbench.errors import InputError, did_you_mean

_SYSLOG_TIME = r"(?P<time>[A-Z][a-z]{2} +\d+ [\d:.]+|\d{4}-\d\d-\d\dT\S+)"
_REQUEST = (
    r'"(?:(?P<method>[A-Z]+) (?P<path>[^" ]*)(?: (?P<protocol>HTTP/[\d.]+))?|(?P<request>(?:[^"\\]|\\.)*))"'
    r" (?P<status>\d+) (?P<bytes>\d+|-)"
)
_AGENT = r'(?: "(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"(?: (?P<more>.*))?)?'
_ACCESS = rf"(?P<remote>\S+) (?P<ident>\S+) (?P<user>.+?) \[(?P<time>[^\]]+)\] {_REQUEST}{_AGENT}"
PATTERNS = {
    "syslog": (
        rf"(?:<\d+>)?{_SYSLOG_TIME} (?P<host>\S+)"
        r" (?:(?P<program>[^\s:\[]+)(?:\[(?P<pid>\d+)\])?: ?)?(?P<message>.*)"
    ),
    "nginx": _ACCESS,
    "apache": _ACCESS,
    "haproxy": (
        r"(?:.*?haproxy\[(?P<pid>\d+)\]: )?(?P<remote>\S+):(?P<port>\d+) \[(?P<time>[^\]]+)\]"
        r" (?P<frontend>\S+) (?P<backend>[^\s/]+)/(?P<server>\S+)"
        r" (?P<request_ms>-?\d+)/(?P<queue_ms>-?\d+)/(?P<connect_ms>-?\d+)"
        r"/(?P<response_ms>-?\d+)/\+?(?P<total_ms>-?\d+)"
        r" (?P<status>-?\d+) \+?(?P<bytes>\d+) \S+ \S+ (?P<state>\S{4}) [\d/+]+ [\d/]+(?: \{[^}]*\}){0,2}"
        r' "(?:(?P<method>[A-Z]+) (?P<path>\S*)(?: (?P<protocol>HTTP/[\d.]+))?|(?P<request>.*))"'
    ),
}
"""The regular expressions by the names of the logs."""
PATTERN_OPTION = f"--pattern {', '.join(PATTERNS)}, or '(?P<user>\\w+) (?P<ms>\\d+)'"
"""The option for lines of text, for hints."""
LOGFMT = "logfmt"
"""The format that can also be named as a pattern."""
EMPTY = "-"
"""The text of an empty cell in these logs."""


def find_pattern(text: str) -> str | None:
    """Return the regular expression of that name; None if the text is itself one.

    Raises
    ------
    InputError: it is the name of no pattern.
    """
    if re.fullmatch(r"[\w-]*", text) is None:
        return None
    if text not in PATTERNS:
        hint = did_you_mean(text, [*PATTERNS, LOGFMT])
        more = "or write a regular expression with a group for each column, as '(?P<user>\\w+) (?P<ms>\\d+)'"
        raise InputError(f"there is no pattern '{text}'", hint=f"{hint} ({more})")
    return PATTERNS[text]
