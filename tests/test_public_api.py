"""The public names: listed, sorted, documented, and the promised ones at the front door."""

import importlib
import inspect
import re
import subprocess
import sys
import tomllib

import pytest

import sklearn_fw
from _package import ROOT, families, public_objects

MODULES = [sklearn_fw, *families()]


@pytest.mark.whole
@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_all_is_sorted_and_resolves(module):
    assert (module.__doc__ or "").strip()
    names = list(module.__all__)
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), name))
    assert set(names) <= set(dir(module))
    for name in names:
        assert not name.startswith("_") or name == "__version__"
        assert getattr(module, name) is not None


def test_public_objects_have_docstrings():
    for name, obj in public_objects():
        assert (inspect.getdoc(obj) or "").strip(), name
        for method, function in vars(obj).items() if inspect.isclass(obj) else ():
            if inspect.isfunction(function) and not method.startswith("_"):
                assert (inspect.getdoc(getattr(obj, method)) or "").strip(), f"{name}.{method}"


def test_front_door_offers_names_of_families():
    """A fresh import loads no family: each comes with the first use of one of its names."""
    homes = {name: getattr(m, name) for m in families() for name in m.__all__}
    assert len(sklearn_fw.__all__) > 15
    for name in sklearn_fw.__all__:
        assert getattr(sklearn_fw, name) is homes[name]
    for module in families():
        assert importlib.import_module(module.__name__) is module
        assert module.__name__.split(".")[1] in dir(sklearn_fw)
    program = """import sys, sklearn_fw
assert not [m for m in sys.modules if m.split(".")[0] in {"numpy", "sklearn"}]
assert sklearn_fw.optim.domains.L1Ball and not hasattr(sklearn_fw, "nothing")
from sklearn_fw import *"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_every_name_has_one_path():
    """Beside the front door: inner packages are private, and no family repeats another's names."""
    homes = {}
    for module in families():
        for name in module.__all__:
            homes.setdefault(id(getattr(module, name)), []).append(f"{module.__name__}.{name}")
    assert not [paths for paths in homes.values() if len(paths) > 1]


@pytest.mark.whole
@pytest.mark.parametrize("module", families(), ids=lambda m: m.__name__)
def test_reference_lists_every_name(module):
    page = f"docs/api/{module.__name__.rpartition('.')[2]}.rst"
    assert (ROOT / page).is_file(), f"write {page}, with every name of {module.__name__}"
    listed = re.findall(r"^ {4}(\w+)$", (ROOT / page).read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted(module.__all__), f"edit {page}"


def test_version_has_one_source():
    """The front door, where the project reads it; the citation has that of the last release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert "version" not in project["project"]
    path = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert path == ROOT / "sklearn_fw" / "__init__.py"
    (found,) = re.findall(r'^__version__ = "(.*)"$', path.read_text(encoding="utf-8"), re.M)
    assert found == sklearn_fw.__version__
    assert f'\nversion: "{found}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
