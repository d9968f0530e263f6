"""Every array of five groups of golden values is named for what it is, at rank one.

Right means: the first convention computes what the case's library was set to, wherever that is.
Some arrays leave the choice open, such as a row of biases that has no distances: there the right
one must be among those that explain it equally, and the report must say that there are several.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Golden, goldens
from test_golden_additive import sinusoidal
from test_golden_bias import ALIBI, preset, t5
from test_golden_rotary import positions_of, scheme_as_built, scheme_of, width_of

from poscli.identify.dumps import Dump, Stored
from poscli.identify.evidence import evidence_of
from poscli.identify.findings import Finding
from poscli.identify.reading import Conclusion, conclude
from poscli.schemes.rotary import Rotary
from poscli.schemes.sines import Sines

LEFT_OUT = {
    ("ret-pixel", "q/q_out"): "turned along one axis, by a scheme of two whose frequencies it has",
}
AXIAL = {
    "ret-axial-lang": "rope-axial",
    "ret-axial-pixel": "rope-axial-pixel:columns=4,rows=3,max_freq=16",
}
RIGHT, TIED, SHORT, WRONG = "right", "tied", "too short", "wrong"


def stored(name: str, values: Any) -> Stored:
    array = np.asarray(values)
    return Stored(name, array.astype(np.float64), array.dtype.name)


def conclusions(case: Golden, group: str) -> Iterator[tuple[str, Conclusion]]:
    """Read a case as a file that holds what its library gave out, with the positions it got."""
    arrays = {name: stored(name, values) for name, values in case.arrays.items()}
    if group == "rope_rotate" or "x" in case.inputs:
        arrays |= {name: stored(name, values) for name, values in case.inputs.items()}
    if "relative_position" in case.inputs:
        arrays["relative_position"] = stored("", case.inputs["relative_position"])
    for name in ("query_positions", "key_positions"):
        if name in case.params:
            arrays[name] = stored(name, case.params[name])
    if group == "sinusoidal" and any(k in case.inputs for k in ("input_ids", "position_ids")):
        arrays["positions"] = stored("positions", sinusoidal(case)[1])
    elif isinstance(case.params.get("positions"), list):
        arrays["positions"] = stored("positions", case.params["positions"])
    elif isinstance(case.params.get("position_ids"), dict):
        arrays["positions"] = stored("positions", positions_of(case))
    for piece in evidence_of(Dump(Path(case.id), arrays)):
        yield "/".join(piece.names), conclude(piece)


def judged(case: Golden, name: str, conclusion: Conclusion, group: str) -> str:
    if conclusion.undecided:
        return SHORT
    explaining = [f for f in conclusion.findings if f.explains]
    if not explaining:
        return WRONG
    is_right = {"sinusoidal": is_sinusoid, "alibi": is_alibi, "relative_bucket": is_bucket}.get(
        group, is_rotary
    )
    if is_right(case, name, explaining[0]):
        return RIGHT
    tied = [f for f in conclusion.rivals if is_right(case, name, f)]
    alike = [f for f in explaining if f.same_as(explaining[0]) and is_right(case, name, f)]
    return TIED if tied or alike else WRONG


def is_sinusoid(case: Golden, name: str, found: Finding) -> bool:
    want, positions = sinusoidal(case)
    dim = case.params["dim"]
    scheme = found.scheme
    if not isinstance(scheme, Sines) or scheme.zero_padding != bool((positions < 0).any()):
        return False
    first = np.asarray(positions).ravel()[0] + want.origin
    numbers = np.arange(200)
    one, other = (s.model_copy(update={"origin": 0, "zero_padding": False}) for s in (scheme, want))
    same = np.abs(one.vectors(numbers, dim) - other.vectors(numbers, dim)).max() < 1e-9
    return bool(same and dict(found.facts)["offset"] == first)


def is_rotary(case: Golden, name: str, found: Finding) -> bool:
    scheme = found.scheme
    if case.id in AXIAL:
        return scheme.label() == AXIAL[case.id]
    if name == "freqs" and case.id == "ret-pixel":
        return scheme.name == "rope-axial-pixel" and scheme.max_freq == case.params["max_freq"]
    want, width = scheme_of(case), width_of(case)
    if name == "inv_freq_init":
        want = scheme_as_built(case)
    if name == "freqs" and "interpolate_factor" in case.params:
        want = want.model_copy(update={"factor": 1.0})
    if not isinstance(scheme, Rotary):
        return False
    if name == "scale":
        return scheme.model_dump(exclude={"pairing"}) == want.model_dump(exclude={"pairing"})
    if name in ("q/q_out", "k/k_out"):
        used = scheme.for_length(int(positions_of(case).max()) + 1)
        width = case.inputs["q"].shape[-1]
        x = np.random.default_rng(0).normal(size=(2, len(positions_of(case)), width))
        one, other = (s.rotate(x, positions_of(case)) for s in (used, want))
        return bool(np.abs(one - other).max() < 1e-6 * np.abs(positions_of(case)).max() + 1e-6)
    other = np.array([float(w) for w in want.frequencies(width)])
    one = np.array([float(w) for w in scheme.frequencies(2 * len(other))])
    # Slow pairs within a few positions show their divisors to a few digits only.
    rtol = 0.01 if scheme.name == "rope-longrope" and name == "cos/sin" else 5e-7
    same = bool(np.allclose(one, other, rtol=rtol, atol=0))
    return same and (name != "cos/sin" or abs(scheme.amplitude - want.amplitude) < 1e-6)


def is_alibi(case: Golden, name: str, found: Finding) -> bool:
    peer, p = case.id.partition("-")[0], case.params
    given = {"bias_max": float(p["alibi_bias_max"])} if "alibi_bias_max" in p else {}
    want = preset(ALIBI.get(peer, "bloom"), **given)
    if name == "slopes":
        want = preset("x-transformers-alibi", **given)
    if "form" not in p and peer == "labml" and name == "bias":
        assert dict(found.facts)["offset"] == "queries from 1, keys from 1"
    return found.scheme == want


def is_bucket(case: Golden, name: str, found: Finding) -> bool:
    scheme, p = found.scheme, case.params
    if case.id.startswith("deberta-log"):
        return (scheme.name, scheme.buckets, scheme.max_distance) == (
            "deberta",
            p["bucket_size"],
            p["max_position"],
        )
    if case.id.startswith("deberta"):
        return found.kind == "offsets" and dict(found.facts)["layout"] == "query minus key"
    if case.id.startswith("speecht5"):
        return (scheme.name, scheme.left, scheme.right) == ("shaw", 2, 3)
    if "window" in p:
        shape = [scheme.rows, scheme.columns] if scheme.name == "window" else []
        return shape == p["window"]
    want, far = t5(case), np.arange(-2000, 2001)
    return scheme.name == "t5" and np.array_equal(scheme.bucket(far), want.bucket(far))


@pytest.mark.parametrize(
    ("group", "right", "tied", "short"),
    [
        ("sinusoidal", 75, 0, 9),
        ("rope_tables", 142, 0, 0),
        ("rope_rotate", 145, 0, 0),
        ("alibi", 53, 4, 0),
        ("relative_bucket", 22, 1, 0),
    ],
)
def test_each_array_is_identified(
    group: str, right: int, tied: int, short: int, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = {
        (case.id, name): judged(case, name, conclusion, group)
        for case in goldens(group)
        for name, conclusion in conclusions(case, group)
        if (case.id, name) not in LEFT_OUT
    }
    counts = {v: list(verdicts.values()).count(v) for v in (RIGHT, TIED, SHORT, WRONG)}
    with capsys.disabled():
        print(f"\n{group}: {len(verdicts)} arrays: {counts}")
    assert [key for key, verdict in verdicts.items() if verdict == WRONG] == []
    assert (counts[RIGHT], counts[TIED], counts[SHORT]) == (right, tied, short)
