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
        super().__init__(name=system.command, help=f"{about}\n\n{more}", no_args_is_help=True)
        self.rich_help_panel = "Systems"
        self.system = system

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs."""
        self.commands = self.commands or get_group(self.system.part("commands").app).commands
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb, or None if there is none of that name."""
        self.list_commands(ctx)
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
            label = "" if stopped else typer.style("error: ", fg="red", bold=True)
            typer.echo(label + (" ".join(str(error).split()) or "stopped by Ctrl-C"), err=True)
            raise typer.Exit(STOPPED if stopped else REFUSED) from error
