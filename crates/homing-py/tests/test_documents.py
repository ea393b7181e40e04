"""The Python blocks of the documents run, and so does the tutorial."""

import re

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

DOCUMENTS = ["README.md", "docs/python.md", "crates/homing-py/README.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_python_in_documents_runs(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    # Each block continues the one before it.
    names = {"__name__": "document"}
    for block in blocks:
        exec(compile(block, document, "exec"), names)


def test_the_tutorial_runs(tmp_path):
    notebook = nbformat.read(ROOT / "docs/tutorial.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", []) if "text/html" in out.get("data", {})]
    assert any("<svg" in out["data"]["text/html"] for out in shown), "a selection is drawn"
