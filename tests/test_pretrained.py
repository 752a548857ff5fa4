"""Models that load shipped weights, folders and Hub repositories."""

import dataclasses
import hashlib
import json
import os
import socket
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module, invalidate_caches
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from huggingface_hub import PyTorchModelHubMixin, constants
from lightning.pytorch import LightningModule
from safetensors.torch import load_file, save_file
from torch.utils.data import DataLoader, TensorDataset

from firstlight.errors import InvalidInput
from firstlight.pretrained import Pretrained
from firstlight.training import fit


@dataclasses.dataclass
class Scaling:
    mean: float = 0.0
    spread: float = 1.0


class Net(Pretrained):
    """A small network whose constructor takes every kind of argument that is kept."""

    def __init__(
        self,
        inputs: int,
        hidden: list[int] = [5, 4],  # noqa: B006 - defaults must come back too
        *,
        activation: str = "Tanh",
        scaling: Scaling = Scaling(),  # noqa: B008
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.arguments = (inputs, hidden, activation, scaling, dropout)
        self.scaling = scaling
        sizes = (inputs, *hidden)
        layers = [
            part
            for a, b in pairwise(sizes)
            for part in (torch.nn.Linear(a, b), getattr(torch.nn, activation)(), torch.nn.Dropout(dropout))
        ]
        self.layers = torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], 1))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scaling.mean + self.scaling.spread * self.layers(x)


def assert_same_model(model: Net, reference: Net) -> None:
    assert model.arguments == reference.arguments
    assert not model.training
    torch.testing.assert_close(model.state_dict(), reference.state_dict(), rtol=0, atol=0)
    x = torch.randn(3, model.arguments[0])
    torch.testing.assert_close(model(x), reference.eval()(x), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((3,), {}),
        ((2, [7]), {"activation": "SiLU"}),
        ((1,), {"hidden": [3, 3, 3], "scaling": Scaling(2.0, 0.5), "dropout": 0.0}),
    ],
)
def test_saved_model_comes_back_with_its_weights_and_arguments(tmp_path, given, named):
    model = Net(*given, **named)
    model.seen += 7
    model.save_pretrained(tmp_path / "runs" / "one")
    assert_same_model(Net.from_pretrained(tmp_path / "runs" / "one"), model)
    # and it is a model for anybody who has the mixin only
    assert issubclass(Net, PyTorchModelHubMixin)
    assert sorted(load_file(tmp_path / "runs" / "one" / "model.safetensors")) == sorted(model.state_dict())


def test_model_without_arguments_comes_back_too(tmp_path):
    class Plain(Pretrained):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

    model = Plain()
    model.save_pretrained(tmp_path)
    torch.testing.assert_close(Plain.from_pretrained(tmp_path).state_dict(), model.state_dict(), rtol=0, atol=0)


def test_arguments_may_be_replaced_when_loading(tmp_path):
    Net(3).save_pretrained(tmp_path)
    assert Net.from_pretrained(tmp_path, dropout=0.5).arguments[-1] == 0.5


def test_half_precision_weights_load_into_single_precision(tmp_path):
    model = Net(3)
    model.save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    save_file({name: t.half() if t.is_floating_point() else t for name, t in load_file(path).items()}, path)
    loaded = Net.from_pretrained(tmp_path, map_location="cpu")
    assert loaded.layers[0].weight.dtype == torch.float32
    torch.testing.assert_close(loaded.layers[0].weight, model.layers[0].weight, rtol=1e-3, atol=1e-3)


SYSTEM = """
    import torch
    from firstlight.pretrained import Pretrained

    class Shipped(Pretrained):
        def __init__(self, width: int = 2) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(width, 1)
"""


@pytest.fixture
def shipped_model(tmp_path, monkeypatch):
    """The model of a package with shipped weights."""
    package = tmp_path / "source" / "a_system"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "model.py").write_text(textwrap.dedent(SYSTEM))
    monkeypatch.syspath_prepend(package.parent)
    invalidate_caches()
    model = import_module("a_system.model").Shipped
    for variant, width in (("", 2), ("large", 9)):
        model(width).save_pretrained(package / "weights" / variant)
    yield model
    for module in [module for module in sys.modules if module.split(".")[0] == "a_system"]:
        del sys.modules[module]


def test_shipped_weights_load_without_a_network(shipped_model, monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("the network was asked"))
    assert shipped_model.from_pretrained().layer.in_features == 2
    assert shipped_model.from_pretrained("large").layer.in_features == 9


def test_a_folder_of_ones_own_is_named_by_its_path(shipped_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("large", "mine"):
        shipped_model(4).save_pretrained(folder)
    widths = {name: shipped_model.from_pretrained(name).layer.in_features for name in ("large", "mine")}
    assert widths == {"large": 9, "mine": 4}
    assert shipped_model.from_pretrained(tmp_path / "large").layer.in_features == 4


def test_a_model_that_is_nowhere_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(InvalidInput, match=r"cannot load Net from .*tests/weights: it is not shipped"):
        Net.from_pretrained()
    for name in ("/no/such/folder", "../nor/here", tmp_path / "absent"):
        with pytest.raises(InvalidInput, match="it is not shipped, no folder here, and not to be had on the Hub"):
            Net.from_pretrained(name)


class Payload:
    """What a pickle that runs code when opened looks like."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self):
        return os.mkdir, (str(self.victim),)


def test_pickled_weights_are_refused_unopened(tmp_path):
    Net(3).save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(Payload(tmp_path / "harm"), tmp_path / "pytorch_model.bin")
    with pytest.raises(InvalidInput, match=r"No such file.*model.safetensors"):
        Net.from_pretrained(tmp_path)
    assert not (tmp_path / "harm").exists()


def damage_config(text: str):
    return lambda folder: (folder / "config.json").write_text(text)


def cut_weights(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-5])


def scramble_header(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(b"\xff" * 16 + whole[16:])


def change_tensors(change):
    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "missing 1 required positional argument: 'inputs'"),
        (damage_config("{inputs: 3}"), "cannot load Net from .*property name"),
        (damage_config("[3]"), "cannot load Net"),
        (damage_config("{}"), "missing 1 required positional argument: 'inputs'"),
        (damage_config('{"inputs": 4}'), r"size mismatch for layers.0.weight: .*\[5, 3\].*\[5, 4\]"),
        (damage_config('{"inputs": "three"}'), "cannot load Net"),
        (cut_weights, "cannot load Net"),
        (scramble_header, "cannot load Net"),
        (change_tensors(lambda tensors: tensors.pop("seen")), "Missing key.*seen"),
        (change_tensors(lambda tensors: tensors.update(more=torch.ones(1))), "Unexpected key.*more"),
    ],
)
def test_damaged_models_give_one_clear_error(tmp_path, damage, message):
    Net(3).save_pretrained(tmp_path)
    damage(tmp_path)
    with pytest.raises(InvalidInput, match=message) as caught:
        Net.from_pretrained(tmp_path)
    assert "\n" not in str(caught.value)


def test_unknown_options_and_oversized_weights_are_refused(tmp_path, monkeypatch):
    Net(3).save_pretrained(tmp_path)
    with pytest.raises(InvalidInput, match="unexpected keyword argument 'colour'"):
        Net.from_pretrained(tmp_path, colour="red")
    monkeypatch.setattr(Net, "max_bytes", 100)
    with pytest.raises(InvalidInput, match=r"holds \d+ bytes of weights, over the limit of 100"):
        Net.from_pretrained(tmp_path)


def test_saving_keeps_other_files(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    Net(3).save_pretrained(tmp_path)
    Net(4).save_pretrained(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["README.md", "config.json", "model.safetensors", "notes.txt"]
    assert json.loads((tmp_path / "config.json").read_text())["inputs"] == 4
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1  # whoever may read one may read all


def test_failed_saving_leaves_the_old_model(tmp_path):
    old = Net(3)
    old.save_pretrained(tmp_path / "model")

    class Failing(Net):
        def generate_model_card(self, *args, **kwargs):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        Failing(4).save_pretrained(tmp_path / "model")
    with pytest.raises(OSError, match="disk full"):
        Failing(4).save_pretrained(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert_same_model(Net.from_pretrained(tmp_path / "model"), old)


def test_arguments_that_json_cannot_hold_are_refused_when_saving(tmp_path):
    class WithModule(Pretrained):
        def __init__(self, inner: torch.nn.Module) -> None:
            super().__init__()
            self.inner = inner

    with pytest.raises(InvalidInput, match=r"WithModule was made with a 'inner' that cannot be put in config.json"):
        WithModule(torch.nn.Linear(1, 1)).save_pretrained(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_trained_network_is_saved_and_gives_the_same_predictions(tmp_path):
    class Regression(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net(1, [16], dropout=0.0)

        def training_step(self, batch, _):
            loss = (self.net(batch[0]) - batch[1]).square().mean()
            self.log("train_loss", loss, on_step=False, on_epoch=True)
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 0.05)

    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64)[:, None]
    data = DataLoader(TensorDataset(x, torch.sin(3 * x)), 16, shuffle=True)
    module = Regression()
    fit(module, data, folder=tmp_path / "run", max_epochs=40, accelerator="cpu", enable_progress_bar=False)
    module.net.save_pretrained(tmp_path / "weights")
    net = Net.from_pretrained(tmp_path / "weights")
    torch.testing.assert_close(net(x), module.net.eval()(x), rtol=0, atol=0)
    assert (net(x) - torch.sin(3 * x)).square().mean() < 2e-2


COMMIT = "f" * 40


class Hub(BaseHTTPRequestHandler):
    """The answers of the Hub that loading ``me/net`` needs, over real HTTP."""

    folder: Path

    def do_GET(self) -> None:
        place, _, part = self.path.partition("?")[0].rpartition("/")
        files = [(path.name, path.stat().st_size) for path in self.folder.iterdir()]
        if self.path.startswith("/api/models/me/net/tree/"):
            tree = [{"type": "file", "path": name, "size": size, "oid": "0" * 40} for name, size in files]
            self.answer(json.dumps(tree).encode())
        elif self.path.startswith("/api/models/me/net"):
            siblings = [{"rfilename": name, "size": size} for name, size in files]
            self.answer(json.dumps({"id": "me/net", "sha": COMMIT, "siblings": siblings}).encode())
        elif place == f"/me/net/resolve/{COMMIT}":
            self.answer((self.folder / part).read_bytes())
        else:
            self.send_error(404)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", hashlib.sha1(content).hexdigest())
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def test_hub_models_are_fetched_once_and_then_found_offline(tmp_path, monkeypatch):
    expected = Net(3)
    expected.save_pretrained(tmp_path / "net")
    Hub.folder = tmp_path / "net"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    cache = tmp_path / "cache"

    monkeypatch.setattr(Net, "max_bytes", 100)
    with pytest.raises(InvalidInput, match="over the limit of 100"):
        Net.from_pretrained("me/net", cache_dir=cache)
    assert not list(cache.rglob("*.safetensors")), "it is too large, and was fetched all the same"
    monkeypatch.setattr(Net, "max_bytes", 10**6)
    with pytest.raises(InvalidInput, match="not to be had on the Hub"):
        Net.from_pretrained("me/net", cache_dir=cache, local_files_only=True)
    assert_same_model(Net.from_pretrained("me/net", cache_dir=cache), expected)
    with pytest.raises(InvalidInput, match="not to be had on the Hub"):
        Net.from_pretrained("me/absent", cache_dir=cache)
    server.shutdown()
    server.server_close()
    assert_same_model(Net.from_pretrained("me/net", cache_dir=cache, local_files_only=True), expected)
    assert_same_model(Net.from_pretrained("me/net", cache_dir=cache), expected)
