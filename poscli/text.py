"""Writing values and strangers' text so that nothing is lost and nothing is acted on."""


def plain(value: float) -> str:
    """Write a number in full: every digit it has, and no more.

    >>> plain(10000.0), plain(0.02), plain(1000000.5), plain(3)
    ('10000', '0.02', '1000000.5', '3')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)


def figure(value: float) -> str:
    """Write a computed number for reading: six significant digits, and all before the point.

    >>> figure(0.8414709848), figure(1234567.25), figure(1e-9), figure(3.0)
    ('0.841471', '1234567.25', '1e-09', '3')
    """
    if 1 <= abs(value) < 1e16:
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return f"{value:.6g}"


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
