"""The `replica` command: a group whose subcommands are imported when they are used, so that --help stays quick."""

from __future__ import annotations

import contextlib
import errno
import sys
from importlib import import_module

import click

# what the system says when it does not take the bytes; a closed pipe is no fault and click ends on it quietly
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

COMMANDS = {
    "solve": ("solve:solve", "Asymptotic risks, overlaps and stability of one problem."),
    "flow": ("flow:flow", "Value-softmax gradient flow: why attention polarises."),
    "erm": ("erm:erm", "Experiment: minimise the empirical risk on random data."),
    "amp": ("amp:amp", "Experiment: message passing for the Bayes posterior on random data."),
    "check": ("check:check", "Does the theory describe the experiment: both on the same problems, and a verdict."),
    "stability": ("stability:stability", "Map the line where replica symmetry breaks."),
    "heads": ("heads:heads", "Several heads: specialisation, optimal risks, pruning."),
    "sweep": ("sweep:sweep", "Solve a grid of problems along alpha, into a CSV; survives being killed."),
    "thresholds": ("thresholds:thresholds", "Bayes-optimal transitions in alpha: spinodals and the threshold between."),
    "plot": ("plot:plot", "Draw tables: learning curves, heat maps, phase diagrams."),
    "derive": ("derive:derive", "Print the self-consistency equations that the solver uses."),
    "cache": ("cache:cache", "Where the compiled kernels are; delete them."),
}


# a group without a command shows its help, which newer versions of click raise as an error
_NO_ARGUMENTS = getattr(click.exceptions, "NoArgsIsHelpError", ())


class LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        return getattr(import_module(f".{module}", __package__), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from replica._version import __version__

        click.echo(f"replica {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def cli() -> None:
    """Replica-method predictions for attention: single-location regression in the high-dimensional limit."""


def run() -> None:
    """Console entry: expected errors become one line on stderr and exit code 2."""
    from replica.errors import ReplicaError

    try:
        sys.exit(cli(standalone_mode=False))
    except _NO_ARGUMENTS as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message())
    except ReplicaError as error:
        _fail(str(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except MemoryError:
        _fail("not enough memory; fewer points, samples or nodes take less, or a smaller problem")
    except OSError as error:
        if error.errno not in _NOT_WRITTEN:
            raise
        with contextlib.suppress(OSError):  # or the interpreter tries again at its end, and complains
            sys.stdout.close()
        _fail(f"the output was not written: {error.strerror}")


def _fail(message: str) -> None:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    run()
