"""The one exception poscli raises for input it cannot run with."""

from collections.abc import Iterable


class PoscliError(ValueError):
    """Input that cannot be run: one line saying what was asked, what came and what is allowed.

    A ValueError, so that raised in a validator it gains the file, line and key it belongs to.
    """


class UnknownKeyError(PoscliError):
    """A key that is no setting of what it was given to."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Name the closest allowed word and the whole choice, for the end of an error message.

    >>> nearest("sinusodial", ["none", "sinusoidal"])
    "nearest: 'sinusoidal'; known: none, sinusoidal"
    """
    from difflib import get_close_matches

    names = list(allowed)
    known = "known: " + (", ".join(names) if names else "nothing")
    close = get_close_matches(word, names, n=1)
    return f"nearest: {close[0]!r}; {known}" if close else known
