"""Models that load the weights shipped with the package, a folder, or a repository of the Hugging Face Hub.

A model inherits `Pretrained` in place of ``torch.nn.Module``::

    class DensityModel(Pretrained):
        def __init__(self, width: int = 64) -> None: ...

    DensityModel.from_pretrained()                     # weights/ in the package that defines the class
    DensityModel.from_pretrained("large")              # weights/large/ there
    DensityModel.from_pretrained("runs/mine")          # a folder
    DensityModel.from_pretrained("someone/a-model")    # the Hub, or its cache when offline

Weights are a folder with ``model.safetensors`` (tensors, never a pickle) and ``config.json`` (the arguments of the
constructor, which must therefore be numbers, strings, lists, tuples, mappings or dataclasses).
"""

import inspect
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_origin

import torch
from huggingface_hub import HfApi, PyTorchModelHubMixin, snapshot_download
from safetensors import SafetensorError
from safetensors.torch import load_model

from firstlight.errors import InvalidInput

WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "MODEL_CARD.md"
Model = TypeVar("Model", bound="Pretrained")
HUB_OPTIONS = ("revision", "cache_dir", "force_download", "local_files_only", "token")


class Pretrained(torch.nn.Module, PyTorchModelHubMixin):
    """A ``torch.nn.Module`` with `from_pretrained`, `save_pretrained` and the rest of Hugging Face's model mixin.

    Attributes
    ----------
    max_bytes : the largest weights that are read, 4 GiB; a class with larger ones sets its own.
    """

    max_bytes: ClassVar[int] = 2**32

    @classmethod
    def shipped(cls) -> list[str]:
        """Names of the variants that come with the package, besides the default."""
        weights = _weights_beside(cls)
        return sorted(part.name for part in weights.iterdir() if _holds_model(part)) if weights else []

    @classmethod
    def from_pretrained(cls: type[Model], name: str | Path | None = None, **options: Any) -> Model:
        """Load a model in evaluation mode.

        Parameters
        ----------
        name : a shipped variant, a folder, or ``"owner/name"`` on the Hub, looked for in this order; unless given,
            the default weights of the package. What is shipped is found without a network.
        **options : ``map_location``, a device; for the Hub ``revision``, ``cache_dir``, ``token``,
            ``force_download``, ``local_files_only``; arguments of the constructor, in place of those saved.

        Raises
        ------
        InvalidInput
            If there is no such model, a file is missing, damaged or too large, or weights and class do not fit.
        """
        hub = {option: options.pop(option) for option in HUB_OPTIONS if option in options}
        device = options.pop("map_location", "cpu")
        with cls._found(name, hub) as folder:
            _check(folder, cls.max_bytes)
            try:
                model = super().from_pretrained(folder, **options)
            except InvalidInput:
                raise
            except (SafetensorError, RuntimeError, TypeError, ValueError) as error:
                raise InvalidInput(f"{folder} does not fit {cls.__name__}: {_one_line(error)}") from error
        return model.to(device).eval()

    def save_pretrained(self, save_directory: str | Path, *, card: str | None = None, **options: Any) -> str | None:
        """Write weights and configuration to a folder, once both are complete.

        Parameters
        ----------
        save_directory : the folder; made if absent. Other files in it are left alone.
        card : text of ``MODEL_CARD.md``: data, recipe, measured quality, limits. Unless given, there is the
            ``README.md`` that the Hub shows, made from the ``model_card_template`` of the class.
        **options : passed to ``huggingface_hub.PyTorchModelHubMixin.save_pretrained``.

        Raises
        ------
        InvalidInput
            If an argument of the constructor cannot be written to ``config.json``.
        """
        config = self._hub_mixin_config or {}
        if isinstance(config, dict) and (lost := sorted(_arguments(type(self)).keys() - config.keys())):
            raise InvalidInput(f"{type(self).__name__} was made with a {lost[0]!r} that cannot be put in {CONFIG}")
        folder = Path(save_directory)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
            staged = Path(temporary) / folder.name
            # The mixin by itself writes no configuration for a constructor without arguments.
            url = super().save_pretrained(staged, **{**options, "config": options.get("config") or config})
            # safetensors makes files that nobody but their owner may read, which would spoil an installed package.
            (staged / WEIGHTS).chmod((staged / CONFIG).stat().st_mode)
            if card is not None:
                (staged / "README.md").unlink()
                (staged / CARD).write_text(card, encoding="utf-8")
            folder.mkdir(exist_ok=True)
            for part in staged.iterdir():
                part.replace(folder / part.name)
        return url

    @classmethod
    def _from_pretrained(cls: type[Model], *, model_id: str, **options: Any) -> Model:
        # In place of the mixin's, which prints, ignores missing tensors, and falls back to pickled weights.
        arguments = {name: value for name, value in options.items() if name not in HUB_OPTIONS}
        for name, parameter in _arguments(cls).items():
            if isinstance(arguments.get(name), list) and _is_tuple(parameter):
                arguments[name] = tuple(arguments[name])  # JSON has only lists
        model = cls(**arguments)
        load_model(model, Path(model_id) / WEIGHTS, strict=True)
        return model

    @classmethod
    @contextmanager
    def _found(cls, name: str | Path | None, hub: dict[str, Any]) -> Iterator[Path]:
        weights = _weights_beside(cls)
        if weights and name is None and (weights / CONFIG).is_file():
            with _as_folder(weights) as folder:
                yield folder
        elif weights and str(name) in cls.shipped():
            with _as_folder(weights / str(name)) as folder:
                yield folder
        elif name is not None and Path(name).is_dir():
            yield Path(name)
        elif isinstance(name, str) and re.fullmatch(r"\w[\w.-]*/[\w.-]+", name):
            yield _downloaded(name, cls.max_bytes, hub)
        else:
            shipped = ", ".join(cls.shipped()) or "none"
            asked = "weights by default" if name is None else f"a model {name!r}, nor is that a folder"
            raise InvalidInput(f"{cls.__name__} does not ship {asked}; shipped by name: {shipped}")


def _weights_beside(cls: type) -> Traversable | None:
    package = sys.modules[cls.__module__].__package__
    weights = files(package) / "weights" if package else None
    return weights if weights and weights.is_dir() else None


def _holds_model(folder: Traversable) -> bool:
    return folder.is_dir() and (folder / CONFIG).is_file()


@contextmanager
def _as_folder(resource: Traversable) -> Iterator[Path]:
    if isinstance(resource, Path):
        yield resource
        return
    with tempfile.TemporaryDirectory() as temporary:  # the package is imported from a zip file
        for part in (WEIGHTS, CONFIG):
            with resource.joinpath(part).open("rb") as packed, (Path(temporary) / part).open("wb") as file:
                shutil.copyfileobj(packed, file)
        yield Path(temporary)


def _downloaded(repository: str, max_bytes: int, hub: dict[str, Any]) -> Path:
    _check_size(repository, 0 if hub.get("local_files_only") else _size_on_hub(repository, hub), max_bytes)
    try:
        return Path(snapshot_download(repository, allow_patterns=[WEIGHTS, CONFIG], **hub))
    except Exception as error:  # the Hub's client has thirty kinds of errors without a common base
        raise InvalidInput(
            f"{repository} is no folder here and not to be had on the Hub: {_one_line(error)}"
        ) from error


def _size_on_hub(repository: str, hub: dict[str, Any]) -> int:
    where = {option: hub[option] for option in ("revision", "token") if option in hub}
    try:
        parts = HfApi().model_info(repository, files_metadata=True, timeout=10, **where).siblings
    except Exception:  # offline, where nothing is fetched, or no such model, which fetching will say
        return 0
    return sum(part.size or 0 for part in parts or () if part.rfilename in (WEIGHTS, CONFIG))


def _check(folder: Path, max_bytes: int) -> None:
    for part in (WEIGHTS, CONFIG):
        if not (folder / part).is_file():
            raise InvalidInput(
                f"{folder} holds no {part}; models are {WEIGHTS} with {CONFIG}, and pickles are not read"
            )
    _check_size(str(folder), sum((folder / part).stat().st_size for part in (WEIGHTS, CONFIG)), max_bytes)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{folder / CONFIG} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise InvalidInput(f"{folder / CONFIG} must hold the constructor's arguments by name, got {config!r:.50}")


def _check_size(source: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise InvalidInput(f"{source} holds {size:,} bytes of weights, over the limit of {max_bytes:,}")


def _arguments(cls: type) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(cls).parameters
    return {name: p for name, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _is_tuple(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.default, tuple) or (get_origin(parameter.annotation) or parameter.annotation) is tuple


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
