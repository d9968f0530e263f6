"""Break the formulas one at a time, and count how many of the faults the tests catch.

Each fault is put into a copy of the project, and the tests run there until one fails: first those
that hold what the file makes, then all. Words choose faults by their file, as in
`python tests/mutants yarn`.
"""

import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
COPIED = ("poscli", "tests", "configs", "pyproject.toml", "README.md", "Makefile")
AT_ONCE = 2
NUMBERS = ["test_numbers_additive", "test_numbers_rotary", "test_numbers_bias"]
GOLDENS = ["test_golden_additive", "test_golden_rotary", "test_golden_bias"]
NEAR = {
    "schemes": [*NUMBERS, *GOLDENS, "test_laws", "test_scheme_edges", "test_identify"],
    "attention.py": ["test_attention", "test_golden_bias", "test_permute_test"],
    "report.py": ["test_report", "test_permute_test"],
    "padding.py": ["test_padded", "test_golden_additive", "test_cases_additive"],
    "arrays.py": ["test_precision", *NUMBERS, "test_dumps"],
}
"""The tests that hold what a file or folder makes; for any other file, those of angles."""


def main(words: list[str]) -> int:
    """Try the chosen faults; return 1 where one that is not harmless went unseen."""
    faults = [f for f in FAULTS if not words or any(word in f.file for word in words)]
    for fault in faults:
        _changed(ROOT, fault)
    with tempfile.TemporaryDirectory(prefix="poscli-mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for i in range(AT_ONCE):
            copies.put(_copy(Path(folder) / str(i)))
        whole = copies.get()
        if (failed := _first_failure(whole, [])) is not None:
            print(f"the tests fail before anything is broken: {failed}")
            return 1
        copies.put(whole)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            caught = list(pool.map(lambda fault: _try(fault, copies), faults))
    unseen = [f for f, by in zip(faults, caught, strict=True) if by is None]
    argued = [f for f in unseen if f.harmless]
    print(f"\n{len(faults)} faults: {len(faults) - len(unseen)} caught, {len(argued)} harmless")
    for fault in argued:
        print(f"harmless: {fault.file}: {fault.old!r} -> {fault.new!r}: {fault.harmless}")
    survivors = [f for f in unseen if not f.harmless]
    for fault in survivors:
        print(f"NOT CAUGHT: {fault.file}: {fault.old!r} -> {fault.new!r}")
    return 1 if survivors else 0


def _try(fault: Fault, copies: "SimpleQueue[Path]") -> str | None:
    """Return the test that failed for the fault, or None."""
    root = copies.get()
    path = root / "poscli" / fault.file
    before = path.read_text()
    try:
        path.write_text(_changed(root, fault))
        near = NEAR.get(fault.file.partition("/")[0], ["test_phase"])
        by = _first_failure(root, [f"tests/{name}.py" for name in near])
        by = by or _first_failure(root, [])
    finally:
        path.write_text(before)
        copies.put(root)
    print(f"{fault.file}: {_short(fault.new)}: {by or 'no test failed'}", flush=True)
    return by


def _changed(root: Path, fault: Fault) -> str:
    """Return the file's text with the fault in it; the text to replace has to stand there once."""
    text = (root / "poscli" / fault.file).read_text()
    if text.count(fault.old) != 1:
        sys.exit(f"poscli/{fault.file} holds {text.count(fault.old)} times {fault.old!r}, not once")
    return text.replace(fault.old, fault.new)


def _copy(target: Path) -> Path:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.mkdir(exist_ok=True)
            shutil.copy(source, target / name)
    return target


def _first_failure(root: Path, tests: list[str]) -> str | None:
    """Run tests until one fails, all if none are named; return its name, or None."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-rfE"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *options, *tests],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    lines = done.stdout.splitlines()
    named = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return named[0] if named else f"the tests did not run (status {done.returncode})"


def _short(text: str) -> str:
    return " ".join(text.split())[:60]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
