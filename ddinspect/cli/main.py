"""The command `ddinspect`: its sub-commands, and errors as one line and an exit code.

Start-up counts: nothing here may import the library, whose modules each command imports when it runs.
"""

from __future__ import annotations

import gc
import sys

import click

from ddinspect.cli import report, rules
from ddinspect.cli.output import say, write_document
from ddinspect.errors import DDInspectError
from ddinspect.version import __version__

_USAGE_ERROR = 2
_INTERRUPTED = 130

_EPILOG = """\b
Example: ddinspect report unet/dd/replaced.onnx

\b
Exit codes: 0 fine; 1 a gate failed or a finding at or above --fail-on;
2 wrong usage or unreadable input; 3 a gate asked of a graph without a
DynamicDispatch node; 130 interrupted.
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80}, epilog=_EPILOG)
@click.version_option(__version__, prog_name="ddinspect", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(*, debug: bool) -> None:
    """How an ONNX model runs on an AMD Ryzen AI NPU."""


cli.add_command(report.report)
cli.add_command(rules.rules)
cli.add_command(rules.explain)


def main() -> None:
    """Entry point of the command."""
    # A report makes hundreds of thousands of small values, keeps them all, and ends: looking for cycles among them took
    # a fifth of its time and freed nothing.
    gc.disable()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    try:
        result = cli.main(arguments, prog_name="ddinspect", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        write_document(error.format_message() + "\n", None)
        return 0
    except click.ClickException as error:
        say(f"error: {_advise(error)}")
        return _USAGE_ERROR
    except DDInspectError as error:
        _traceback_if_asked(arguments)
        say(f"error: {error}")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 (the last resort: a person gets one line, not a traceback)
        _traceback_if_asked(arguments)
        say(
            f"error: this is a bug in ddinspect ({type(error).__name__}: {error}); run `ddinspect --debug` to see where"
        )
        return _USAGE_ERROR
    return result if isinstance(result, int) else 0


def _advise(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    return f"{message} See `{context.command_path} --help`." if context is not None else message


def _traceback_if_asked(arguments: list[str]) -> None:
    if "--debug" in arguments:
        import traceback

        traceback.print_exc()
