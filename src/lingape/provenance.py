"""How results were produced: commit, machine, versions."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def provenance() -> dict[str, str]:
    """Return the commit (in a checkout), the processor and the versions in use.

    >>> found = provenance()
    >>> "python" in found, "processor" in found
    (True, True)
    """
    found = {"processor": _processor(), "python": platform.python_version()}
    for package in ("lingape", "numpy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    if commit := _commit():
        found["commit"] = commit
    return found


def stamp() -> str:
    """Return the same as a single line.

    >>> stamp().startswith("lingape ")
    True
    """
    found = provenance()
    commit = found.pop("commit", None)
    start = f"lingape {found.pop('lingape', '')}" + (f" at {commit}" if commit else "")
    processor = found.pop("processor")
    return ", ".join([start, processor, *(f"{name} {value}" for name, value in found.items())])


def _commit() -> str | None:
    """Return the commit of the checkout that this file is tracked in, -dirty if code differs."""
    try:
        _git("ls-files", "--error-unmatch", Path(__file__).name)
        commit = _git("describe", "--always")
        # Only code counts, not the pages that commands write one after another.
        changed = _git("diff", "--name-only", "HEAD", "--", ":/src", ":(top,glob)benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}-dirty" if changed else commit


def _git(*words: str) -> str:
    """Return what git says of the checkout around this file."""
    here = Path(__file__).parent
    said = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
    return said.stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
