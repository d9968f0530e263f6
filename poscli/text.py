"""Writing values and strangers' text so that nothing is lost and nothing is acted on."""

from math import atan2

_LARGE_ANGLE = 1e5


def plain(value: float) -> str:
    """Write a number in full: every digit it has, and no more.

    >>> plain(10000.0), plain(0.02), plain(1000000.5), plain(3)
    ('10000', '0.02', '1000000.5', '3')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)


def setting(value: object) -> str:
    """Write a setting as a config would hold it.

    >>> setting(True), setting(0.5), setting("half"), setting(None)
    ('true', '0.5', 'half', 'not given')
    """
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return str(value).lower()
    return plain(value) if isinstance(value, float) else str(value)


def figure(value: float) -> str:
    """Write a computed number for reading: six significant digits, and all before the point.

    >>> figure(0.8414709848), figure(1234567.25), figure(1e-9), figure(3.0)
    ('0.841471', '1234567.25', '1e-09', '3')
    """
    if 1 <= abs(value) < 1e16:
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return f"{value:.6g}"


def angle_for_reading(angle: float, cos: float, sin: float) -> str:
    """Write an angle so that its cos and sin can be checked: a large one less its whole turns.

    >>> angle_for_reading(2.0, -0.416146836547, 0.909297426826)
    '2'
    """
    return figure(angle) if abs(angle) < _LARGE_ANGLE else figure(atan2(sin, cos))


def visible(text: str, encoding: str = "utf-8") -> str:
    """Write text so that it is safe to print: control characters, and what the encoding lacks,
    as escapes.

    >>> visible("a\\x1b[31m\\tb"), visible("日本", "ascii")
    ('a\\\\x1b[31m\\\\tb', '\\\\u65e5\\\\u672c')
    """
    safe = "".join(c if c.isprintable() else _escaped(c) for c in text)
    return safe.encode(encoding, "backslashreplace").decode(encoding)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
