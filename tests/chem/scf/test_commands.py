import json
import re

import numpy as np
import pytest
from pyscf import dft
from pyscf.lib import chkfile
from tests.chem.scf.sources import ComputedDensity, DoubtfulDensity, water
from typer.testing import CliRunner

from firstlight.chem.scf import guess, mean_fields
from firstlight.chem.scf.commands import app
from firstlight.chem.scf.labels import read_labels
from firstlight.errors import InvalidInput
from firstlight.files import load_arrays


@pytest.fixture
def computed(monkeypatch):
    monkeypatch.setattr(guess, "shipped_predictor", ComputedDensity)


@pytest.fixture
def xyz(tmp_path):
    path = tmp_path / "water.xyz"
    path.write_text("3\nwater\nO 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587\n")
    return str(path)


def invoke(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def fields(result):
    assert result.exit_code == 0, result.output
    return dict(re.split(r"  +", line, maxsplit=1) for line in result.stdout.strip().splitlines())


def test_run_shows_both_calculations_and_the_certificate(computed, xyz):
    printed = fields(invoke("run", xyz))
    plain = dft.RKS(water(), xc="pbe").density_fit().run()
    assert printed["from minao"] == f"{plain.cycles} cycles, {plain.e_tot:.9f} hartree"
    assert float(printed["from density"].split()[2]) == pytest.approx(plain.e_tot, abs=2e-9)
    assert int(printed["from density"].split()[0]) < plain.cycles
    assert "same energy" in printed["certificate"]


def test_run_takes_smiles_open_shells_and_hartree_fock(computed):
    printed = fields(invoke("run", "[CH3]", "--xc", "hf", "--no-df"))
    assert "4 atoms, 9 electrons" in printed["molecule"]
    assert "same energy" in printed["certificate"]


def test_run_says_when_another_guess_ran(monkeypatch, xyz):
    monkeypatch.setattr(guess, "shipped_predictor", DoubtfulDensity)
    with pytest.warns(UserWarning, match="minao instead"):
        printed = fields(invoke("run", xyz))
    assert printed["guess"].startswith("minao, because it is unlike")


def test_guess_is_a_checkpoint_that_pyscf_starts_from(computed, xyz, tmp_path):
    out = tmp_path / "guess.chk"
    assert fields(invoke("guess", xyz, "-o", out))["guess"] == "density"
    mf = dft.RKS(water(), xc="pbe").density_fit()
    mf.kernel(dm0=mf.from_chk(str(out)))
    plain = dft.RKS(water(), xc="pbe").density_fit().run()
    assert mf.cycles < plain.cycles
    assert mf.e_tot == pytest.approx(plain.e_tot, abs=1e-8)
    assert chkfile.load_mol(str(out)).nao == 24


def test_predict_writes_density_and_dipole(computed, xyz, tmp_path):
    out, cube = tmp_path / "density.npz", tmp_path / "density.cube"
    printed = fields(invoke("predict", xyz, "--out", out, "--cube", cube))
    exact = dft.RKS(water(), xc="pbe").density_fit().run().dip_moment(verbose=0)
    assert float(printed["dipole moment"].split()[0]) == pytest.approx(np.linalg.norm(exact), abs=0.05)
    assert load_arrays(out)["coefficients"].shape == (71,)
    assert "density" in cube.read_text().splitlines()[0]


def test_label_keeps_the_good_and_lists_the_bad(tmp_path):
    (tmp_path / "list.smi").write_text("O\nC1C\n[OH-]\n")
    result = invoke("label", tmp_path / "list.smi", "-o", tmp_path / "labels.npz", "--workers", 1)
    assert result.exit_code == 1
    assert [label.geometry.name for label in read_labels(tmp_path / "labels.npz")] == ["O"]
    assert "C1C: RDKit cannot read" in result.stderr
    assert "[OH-]" in result.stderr


def test_bench_prints_and_writes_a_line_per_guess(computed, xyz, tmp_path):
    out = tmp_path / "bench.json"
    result = invoke("bench", xyz, "--guesses", "minao,ours", "--workers", 1, "-o", out)
    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text())
    assert [row["guess"] for row in written["summary"]] == ["minao", "ours"]
    assert written["summary"][1]["of minao"] < 1
    assert "ours" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "absent.xyz"], "there is no file absent.xyz"),
        (["run", "O", "--xc", "nonsense"], "no functional 'nonsense'"),
        (["run", "O", "--xc", "b3lyp-d3bj"], "pip install pyscf-dispersion"),
        (["run", "O", "--basis", "nonsense"], "nonsense"),
        (["guess", "O", "-o", "guess.txt"], "ends in .chk"),
        (["predict", "[SiH4]"], "no density is known for Si"),
        (["bench", "molecules.pdb"], "expected .xyz, .smi or .csv"),
        (["label", "absent.smi", "-o", "labels.npz"], "cannot read absent.smi"),
    ],
)
def test_bad_input_is_refused_in_one_line(computed, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mean_fields, "find_spec", lambda name: None)  # pyscf-dispersion
    result = invoke(*arguments)
    assert isinstance(result.exception, InvalidInput)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)
    assert not list(tmp_path.iterdir())
