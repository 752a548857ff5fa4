"""Models that load the weights shipped with the package, a folder, or a repository of the Hugging Face Hub.

A model inherits `Pretrained` in place of ``torch.nn.Module``::

    class DensityModel(Pretrained):
        def __init__(self, width: int = 64) -> None: ...

    DensityModel.from_pretrained()                     # weights/ beside the file that defines the class
    DensityModel.from_pretrained("large")              # weights/large/ there
    DensityModel.from_pretrained("runs/mine")          # a folder
    DensityModel.from_pretrained("someone/a-model")    # the Hub, or its cache when offline

Weights are a folder with ``model.safetensors`` (tensors, never a pickle) and ``config.json`` (the arguments of the
constructor, which must therefore be numbers, strings, lists, mappings or dataclasses; a tuple comes back as a list).
"""

import inspect
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

import torch
from huggingface_hub import PyTorchModelHubMixin, snapshot_download
from huggingface_hub.errors import DryRunError
from safetensors.torch import load_model

from firstlight.errors import InvalidInput

WEIGHTS, CONFIG = "model.safetensors", "config.json"
HUB_OPTIONS = ("revision", "cache_dir", "force_download", "local_files_only", "token")
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Model = TypeVar("Model", bound="Pretrained")


class Pretrained(torch.nn.Module, PyTorchModelHubMixin):
    """A ``torch.nn.Module`` with `from_pretrained`, `save_pretrained` and the rest of Hugging Face's model mixin.

    Attributes
    ----------
    max_bytes : the largest weights that are fetched or read, 4 GiB; a class with larger ones sets its own.
    """

    max_bytes: ClassVar[int] = 2**32

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
        shipped = Path(getattr(sys.modules[cls.__module__], "__file__", None) or ".").parent / "weights"
        places = [shipped] if name is None else [shipped / name, Path(name)]
        try:
            folder = next(filter(Path.is_dir, places), None) or _downloaded(places[-1], cls.max_bytes, hub)
            _check_size((folder / WEIGHTS).stat().st_size, cls.max_bytes)
            model = super().from_pretrained(folder, **options)
        except Exception as error:  # safetensors, torch, json and the Hub's client have errors of forty kinds
            reason = " ".join(str(error).split())[:300]
            raise InvalidInput(f"cannot load {cls.__name__} from {places[-1]}: {reason}") from error
        return model.to(device).eval()

    def save_pretrained(self, save_directory: str | Path, **options: Any) -> str | None:
        """Write weights, configuration and model card to a folder, once all are complete.

        Parameters
        ----------
        save_directory : the folder; made if absent. Other files in it are left alone.
        **options : passed to ``huggingface_hub.PyTorchModelHubMixin.save_pretrained``.

        Raises
        ------
        InvalidInput
            If an argument of the constructor cannot be written to ``config.json``.
        """
        config = self._hub_mixin_config or {}
        arguments = {name for name, p in inspect.signature(type(self)).parameters.items() if p.kind not in VARIADIC}
        if isinstance(config, dict) and (lost := arguments - config.keys()):
            raise InvalidInput(f"{type(self).__name__} was made with a {min(lost)!r} that cannot be put in {CONFIG}")
        folder = Path(save_directory)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
            staged = Path(temporary) / folder.name
            url = super().save_pretrained(staged, **{"config": config, **options})
            # safetensors makes files that nobody but their owner may read, which would spoil an installed package.
            (staged / WEIGHTS).chmod((staged / CONFIG).stat().st_mode)
            folder.mkdir(exist_ok=True)
            for part in staged.iterdir():
                part.replace(folder / part.name)
        return url

    @classmethod
    def _from_pretrained(cls: type[Model], *, model_id: str, **options: Any) -> Model:
        # In place of the mixin's, which prints, ignores missing tensors, and falls back to pickled weights.
        model = cls(**{name: value for name, value in options.items() if name not in HUB_OPTIONS})
        load_model(model, Path(model_id) / WEIGHTS, strict=True)
        return model


def _downloaded(name: Path, max_bytes: int, hub: dict[str, Any]) -> Path:
    wanted = {"repo_id": name.as_posix(), "allow_patterns": [WEIGHTS, CONFIG], **hub}
    try:
        with suppress(DryRunError):  # offline, where nothing is fetched
            _check_size(sum(part.file_size or 0 for part in snapshot_download(**wanted, dry_run=True)), max_bytes)
        return Path(snapshot_download(**wanted))
    except Exception as error:
        raise InvalidInput(f"it is not shipped, no folder here, and not to be had on the Hub: {error}") from error


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise InvalidInput(f"it holds {size:,} bytes of weights, over the limit of {max_bytes:,}")
