"""What stands in several places of the repository says the same in each."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import firstlight
from firstlight.catalogue import FIELDS, working

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def test_version_is_the_same_everywhere():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (REPOSITORY / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert firstlight.__version__ == PROJECT["version"] == str(citation["version"]) == released[0]


def test_every_field_has_an_extra_and_all_brings_it():
    extras = PROJECT["optional-dependencies"]
    brought_by_all = set(re.search(r"\[(.*)\]", extras["all"][0]).group(1).split(","))
    assert set(FIELDS) <= extras.keys()
    assert brought_by_all == extras.keys() - {"all", "dev", "docs"}


def test_every_requirement_is_pinned_within_its_range():
    pins = dict(
        line.split("==")
        for line in (REPOSITORY / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    )
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    requirements = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for requirement in map(Requirement, requirements):
        name = canonicalize_name(requirement.name)
        if name != "firstlight":
            assert requirement.specifier.contains(pinned[name]), f"{requirement} is pinned at {pinned[name]}"


@pytest.mark.parametrize("system", working(), ids=lambda system: system.path)
def test_working_system_follows_the_floor_plan(system):
    name = system.path.replace(".", "_")
    package = REPOSITORY / "src" / "firstlight" / system.path.replace(".", "/")
    homes = [
        package / "__init__.py",
        package / "claims.py",
        package / "commands.py",
        REPOSITORY / "examples" / f"{name}.py",
        REPOSITORY / "benchmarks" / f"{name}.py",
        REPOSITORY / "docs" / "systems" / f"{name}.md",
    ]
    assert [str(home.relative_to(REPOSITORY)) for home in homes if not home.is_file()] == []
    assert ">>>" in (package / "__init__.py").read_text(), "the package's docstring shows an example, as a doctest"
