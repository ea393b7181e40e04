"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile


def write_beside(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file beside its place, then moves it there."""
    path = os.path.abspath(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder}; make it first")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder; name a file")
    handle, beside = tempfile.mkstemp(dir=folder, prefix=".homing-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(beside, 0o666 & ~mask)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
