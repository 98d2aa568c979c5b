"""The tour of docs/python.md and the examples, as they stand."""

import pathlib
import re
import runpy

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def test_the_tour(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 7
    exec(compile("\n".join(blocks), "docs/python.md", "exec"), {"__name__": "tour"})
    shown = capsys.readouterr().out
    assert "1980 transitions" in shown  # the last row of an episode has no successor here
    assert "did you mean `learning_rate`" in shown
    assert (tmp_path / "policy.h").exists()


@pytest.mark.parametrize("name, budget, shown", [
    ("offline_from_arrays", 40, "held-out TD error"),
    ("own_environment", 120, "RLPD:"),
    ("offline_to_online", 40, "policy.h"),
])
def test_example(name, budget, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = str(ROOT / f"examples/python/{name}.py")
    monkeypatch.setattr("sys.argv", [path, str(budget)])
    runpy.run_path(path, run_name="__main__")
    assert shown in capsys.readouterr().out


def test_every_class_is_listed_in_the_stubs():
    import rl_training

    stubs = (ROOT / "python/rl_training/__init__.pyi").read_text()
    for name in rl_training.__all__:
        assert re.search(rf"\b{name}\b", stubs), name
