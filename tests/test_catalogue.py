import tomllib
from pathlib import Path

import pytest

from firstlight import catalogue
from firstlight.errors import InvalidInput, MissingExtra
from firstlight.evidence import claims_in

REPOSITORY = Path(__file__).parent.parent


def test_nineteen_systems_with_distinct_paths_and_command_words():
    assert len(catalogue.SYSTEMS) == 19
    assert len({system.path for system in catalogue.SYSTEMS}) == 19
    assert len({system.command for system in catalogue.SYSTEMS}) == 19


def test_no_system_takes_the_word_of_a_command_of_the_root():
    assert not {"list", "verify"} & {system.command for system in catalogue.SYSTEMS}


def test_each_field_has_its_pip_extra():
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert set(catalogue.FIELDS) <= set(extras)


def test_the_readme_holds_the_table_of_the_catalogue():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert catalogue.as_markdown() in readme, "python -m firstlight.catalogue prints the table that belongs there"


def test_the_table_has_one_row_of_five_cells_per_system():
    rows = catalogue.as_markdown().splitlines()[2:]
    assert len(rows) == len(catalogue.SYSTEMS)
    assert {row.count("|") for row in rows} == {6}
    assert [row.split("`")[1] for row in rows if "**works**" in row] == [s.path for s in catalogue.working()]


@pytest.mark.parametrize("system", catalogue.working(), ids=lambda system: system.path)
def test_a_working_system_has_claims_and_verbs(system):
    assert claims_in(system.part("claims"))
    assert system.part("commands").app.registered_commands
    assert system.part().__doc__


def test_a_system_is_found_by_path_and_by_command_word(build_system):
    system = build_system("field.sums")
    assert catalogue.find("field.sums") is system
    assert catalogue.find("sums") is system


def test_a_planned_system_is_refused_as_planned(build_system):
    build_system("sums", works=False)
    with pytest.raises(InvalidInput, match="planned"):
        catalogue.find("sums")


def test_a_mistyped_name_is_answered_with_the_nearest(build_system):
    build_system("sums")
    with pytest.raises(InvalidInput, match="did you mean sums"):
        catalogue.find("smus")
    with pytest.raises(InvalidInput, match="these work: sums"):
        catalogue.find("quite different")


def test_a_missing_library_is_named_with_the_extra_that_brings_it(build_system):
    system = build_system("field.sums", claims="import a_library_nobody_has.part")
    with pytest.raises(MissingExtra, match=r"a_library_nobody_has is not installed.*firstlight\[field\]"):
        system.part("claims")


def test_a_missing_module_of_our_own_is_no_missing_extra(build_system):
    system = build_system("sums", claims="import firstlight.no_such_module")
    with pytest.raises(ModuleNotFoundError, match=r"firstlight\.no_such_module") as caught:
        system.part("claims")
    assert not isinstance(caught.value, MissingExtra)
