import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import SubspaceRegressor, training
from firstlight.pde.subspace.problems import BurgersProblem, FlattopProblem
from firstlight.pde.subspace.training import RECIPES, Recipe, judged, train_recipe


def test_a_recipe_leaves_a_model_and_goes_on_from_its_folder(tmp_path, monkeypatch):
    small = Recipe(FlattopProblem(cells=8, n_vectors=2), 20, {"out_dim": 3, "width": 4, "layers": 2, "steps": 4})
    monkeypatch.setattr(training, "RECIPES", {"small": small})
    model = train_recipe("small", tmp_path)
    again = train_recipe("small", tmp_path, resume=True)
    kept = SubspaceRegressor.from_pretrained(tmp_path / "model")
    field = judged(small.problem, 1).fields[0]
    for other in (again, kept):
        np.testing.assert_array_equal(other.predict(field), model.predict(field))


def test_judged_samples_are_none_that_recipes_train_on():
    assert max(recipe.samples for recipe in RECIPES.values()) < training.JUDGED


@pytest.mark.parametrize("name", RECIPES)
def test_shipped_weights_are_those_of_their_recipe(name):
    recipe, network = RECIPES[name], SubspaceRegressor.from_pretrained(name).network_
    channels = {FlattopProblem: 1, BurgersProblem: 2}[type(recipe.problem)]
    assert list(network.field_shape) == [channels, *recipe.problem.grid]
    assert network.dim == recipe.problem.n_vectors
    assert network.out_dims == list(recipe.parameters["out_dim"])


def test_an_unknown_recipe_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="choose among flattop"):
        train_recipe("heat", tmp_path)
