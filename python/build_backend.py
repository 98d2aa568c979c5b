"""Build backend for `pip install .`: builds the package with CMake and packs a wheel (PEP 517).

Needs only the packages that `scripts/install_dependencies.sh python` installs.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = "rl_training"


def _version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(rl_training VERSION ([0-9.]+)", text).group(1)


def _metadata():
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {_version()}\n"
            "Summary: Reinforcement learning from logged data, from environments, or from both\n"
            "License: MIT\nRequires-Python: >=3.9\nRequires-Dist: numpy\n")


def _tag():
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{version}-{version}-{platform}"


def _run(*command, check=True):
    """Runs a command in the repository. Unsets PYTHONPATH, because pip sets it to hide installed packages."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=ROOT, env=env, check=check).returncode == 0


def _shares_build():
    """Returns whether `make python` builds for the same interpreter and with the same pybind11."""
    return (os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3")
            and not _run(sys.executable, "-c", "import importlib.util, sys; "
                         "sys.exit(importlib.util.find_spec('pybind11') is None)", check=False))


def _build():
    jobs = str(os.cpu_count())
    if _shares_build():
        _run("cmake", "--preset", "release")
        _run("cmake", "--build", "--preset", "release", "--target", "python", "-j", jobs)
        return ROOT / "build" / "python" / NAME
    build, directory = ROOT / "build" / "wheel", ROOT / "build" / "wheel-package"
    _run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=8", "-DRL_TRAINING_TESTS=OFF",
         f"-DPython_EXECUTABLE={sys.executable}", f"-DRL_TRAINING_PYTHON_DIR={directory}")
    # Without pybind11 this target does not exist. CMake's message then states what is missing.
    _run("cmake", "--build", build, "--target", "python", "-j", jobs)
    return directory / NAME


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _build()
    info = f"{NAME}-{_version()}.dist-info"
    files = {f"{NAME}/{path.name}": path.read_bytes() for path in sorted(package.iterdir())
             if path.suffix in {".py", ".pyi", ".typed", ".so"} or path.name == "py.typed"}
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\n"
                              f"Tag: {_tag()}\n").encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"{NAME}-{_version()}-{_tag()}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w",
                         zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("build from a checkout: pip install .")
