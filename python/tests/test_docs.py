"""Runs the tour in docs/python.md and the examples."""

import ast
import pathlib
import re
import runpy

import pytest

import rl_training

ROOT = pathlib.Path(__file__).parents[2]


def test_the_tour(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 7
    exec(compile("\n".join(blocks), "docs/python.md", "exec"), {"__name__": "tour"})
    shown = capsys.readouterr().out
    assert "1980 transitions" in shown  # 20 of 2000 rows end an episode and have no next row
    assert "did you mean `learning_rate`" in shown
    assert (tmp_path / "policy.h").exists()


@pytest.mark.parametrize("name, budget, shown", [
    ("offline_from_arrays", 40, "held-out TD error"),
    ("own_environment", 120, "RLPD:"),
    ("offline_to_online", 40, "return"),
    ("own_callback", 60, "best return"),
    ("select_and_export", 40, "policy.onnx"),
    ("gymnasium_online", 120, "return"),
])
def test_example(name, budget, shown, tmp_path, monkeypatch, capsys):
    if name == "gymnasium_online":
        pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    path = str(ROOT / f"examples/python/{name}.py")
    monkeypatch.setattr("sys.argv", [path, str(budget)])
    runpy.run_path(path, run_name="__main__")
    assert shown in capsys.readouterr().out


def test_every_example_is_run():
    names = {path.stem for path in (ROOT / "examples/python").glob("*.py")}
    names.remove("optuna_sweep")  # test_sweep.py runs this example
    assert names == {parameters[0] for parameters in test_example.pytestmark[0].args[1]}


def test_everything_public_is_in_the_stubs():
    package = pathlib.Path(rl_training.__file__).parent
    stubs = [ast.parse((package / name).read_text()) for name in ("__init__.pyi", "_classes.pyi")]
    listed = {node.name: node for tree in stubs for node in tree.body
              if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(rl_training.__all__) == {name for name in listed if not name.startswith("_")}
    for name in rl_training.__all__:
        members = {node.name for node in listed[name].body if isinstance(node, ast.FunctionDef)}
        members |= {node.target.id for node in listed[name].body if isinstance(node, ast.AnnAssign)}
        if isinstance(listed[name], ast.ClassDef) and not name.endswith("Error"):
            public = {member for member in vars(getattr(rl_training, name))
                      if not member.startswith("_") and member not in ("count", "index", "metadata",
                                                                      "render_mode", "algo")}
            assert public <= members, name
    (init,) = listed["TD3BC"].body
    arguments = {each.arg: ast.unparse(each.annotation) for each in init.args.kwonlyargs}
    assert arguments["learning_rate"] == "float" and arguments["batch_size"] == "int"
    assert arguments["total_timesteps"] == "int" and arguments["hidden_sizes"] == "List[int]"
