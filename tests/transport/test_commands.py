import re

import numpy as np
import pytest
from typer.testing import CliRunner

from firstlight.cli.root import app
from firstlight.files import load_arrays
from firstlight.transport import tree_sliced_sobolev, tree_sliced_sobolev_sphere
from firstlight.transport.data import eight_gaussians, read_image, write_image

run = CliRunner().invoke


@pytest.fixture
def samples(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)) + 1
    np.save(tmp_path / "x.npy", x)
    np.savetxt(tmp_path / "y.csv", y, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
    return x, y, [str(tmp_path / name) for name in ("x.npy", "y.csv")]


def fields(result):
    assert result.exit_code == 0, result.output
    return dict(re.split(r"  +", line, maxsplit=1) for line in result.stdout.strip().splitlines())


@pytest.mark.parametrize("structure", ["concurrent", "chain"])
def test_distance_prints_that_of_the_library_and_a_bound_that_meets_it(samples, structure):
    x, y, paths = samples
    options = ["--p", "1.5", "--trees", "20", "--structure", structure, "--seed", "3"]
    printed = fields(run(app, ["transport", "distance", *paths, *options, "--certify"]))
    exact = tree_sliced_sobolev(x, y, p=1.5, n_trees=20, structure=structure, seed=3)
    assert float(printed["distance"]) == pytest.approx(exact, rel=1e-9)
    assert float(printed["dual bound"].split(",")[0]) == pytest.approx(exact, rel=1e-9)


def test_a_negative_seed_is_refused_without_a_traceback(samples):
    refused = run(app, ["transport", "distance", *samples[2], "--seed", "-1"])
    assert refused.exit_code == 2
    assert isinstance(refused.exception, SystemExit)


def test_distance_on_the_sphere_divides_by_norms_only_if_asked(samples):
    x, y, paths = samples
    command = ["transport", "distance", *paths, "--sphere", "--trees", "20"]
    printed = fields(run(app, [*command, "--normalize", "--certify"]))
    exact = tree_sliced_sobolev_sphere(x, y, n_trees=20, normalize=True, seed=0)
    assert float(printed["distance"]) == pytest.approx(exact, rel=1e-9)
    assert float(printed["dual bound"].split(",")[0]) == pytest.approx(exact, rel=1e-9)
    refused = run(app, command)
    assert refused.exit_code == 2
    assert "unit sphere" in refused.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sphere", "--structure", "chain"], "--structure"),
        (["--normalize"], "--sphere"),
        (["--p", "0.5"], "at least 1"),
    ],
)
def test_distance_refuses_options_that_do_not_go_together(samples, options, said):
    refused = run(app, ["transport", "distance", *samples[2], *options])
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_flow_saves_particles_and_a_picture(tmp_path):
    start, aim, out, picture = (str(tmp_path / name) for name in ("a.npy", "b.npy", "flow.npz", "flow.png"))
    np.save(start, np.random.default_rng(0).normal(0, 0.25, (40, 2)))
    np.save(aim, eight_gaussians(40, seed=0))
    command = ["transport", "flow", start, aim, "--lr", "0.1", "--iterations", "60", "--out", out, "--plot", picture]
    assert "exact" in fields(run(app, command))["W2 squared"]
    flow = load_arrays(out)
    assert flow["particles"].shape == (40, 2)
    assert flow["w2_squared"][-1] < flow["w2_squared"][0] / 10
    assert read_image(picture).shape[2] in (3, 4)


def test_flow_refuses_a_file_that_it_could_not_write_before_it_begins(tmp_path):
    refused = run(app, ["transport", "flow", "a.npy", "b.npy", "--out", str(tmp_path / "flow.txt")])
    assert refused.exit_code == 2
    assert ".npz" in refused.stderr


def test_recolor_writes_an_image_of_the_size_of_the_content(tmp_path):
    content, style, out = (str(tmp_path / name) for name in ("content.png", "style.png", "out.png"))
    rng = np.random.default_rng(0)
    write_image(content, rng.integers(0, 120, (12, 16, 3), np.uint8))
    write_image(style, rng.integers(130, 255, (10, 10, 3), np.uint8))
    fields(run(app, ["transport", "recolor", content, style, out, "--samples", "60", "--iterations", "80"]))
    made = read_image(out)
    assert made.shape == (12, 16, 3)
    assert made.mean() > 130
    refused = run(app, ["transport", "recolor", content, style, str(tmp_path / "out.words")])
    assert refused.exit_code == 2
    assert ".png" in refused.stderr


def test_recolor_refuses_what_it_could_not_write_before_it_looks_at_the_style(tmp_path):
    write_image(tmp_path / "clear.png", np.zeros((4, 4, 4)))
    refused = run(app, ["transport", "recolor", str(tmp_path / "clear.png"), "no style", str(tmp_path / "out.jpg")])
    assert refused.exit_code == 2
    assert "with 4 channels" in refused.stderr
