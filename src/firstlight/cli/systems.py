"""The command group that knows the systems by the catalogue alone and turns our errors into one clear line."""

from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from firstlight import catalogue
from firstlight.errors import FirstlightError, Interrupted

STOPPED = 130  # what a shell expects of a command ended by Ctrl-C
REFUSED = 2


class SystemVerbs(TyperGroup):
    """The verbs of one system, imported from its ``commands.py`` when first asked for."""

    def __init__(self, system: catalogue.System) -> None:
        about = f"{system.summary[0].upper()}{system.summary[1:]}."
        more = f"Works inside {system.host}. Method: {system.paper}."
        super().__init__(
            name=system.command, help=f"{about}\n\n{more}", rich_help_panel="Systems", no_args_is_help=True
        )
        self.system = system

    def _load(self) -> None:
        if not self.commands:
            self.commands = get_group(self.system.part("commands").app).commands

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs."""
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb, or None if there is none of that name."""
        self._load()
        return super().get_command(ctx, cmd_name)


class Firstlight(TyperGroup):
    """The root command: its own commands and one group per working system."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for system in catalogue.working():
            self.add_command(SystemVerbs(system))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or None; a planned system is refused with the reason."""
        if not ctx.resilient_parsing and any(cmd_name == system.command for system in catalogue.SYSTEMS):
            catalogue.find(cmd_name)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; our errors and unusable files become one line, while a bug keeps its traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has gone, as in `firstlight list | head`
            raise
        except (FirstlightError, OSError, KeyboardInterrupt) as error:
            if ctx.params["debug"]:
                raise
            stopped = isinstance(error, Interrupted | KeyboardInterrupt)
            typer.echo(
                f"{typer.style('error:', fg='red', bold=True) if not stopped else ''} {_line(error)}".strip(), err=True
            )
            raise typer.Exit(STOPPED if stopped else REFUSED) from error


def _line(error: BaseException) -> str:
    """Return the text of an error as one line."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyboardInterrupt):
        return "stopped by Ctrl-C"
    return " ".join(str(error).split()) or type(error).__name__
