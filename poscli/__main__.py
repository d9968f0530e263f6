"""Run the command line: `poscli`, or `python -m poscli`."""

import gc
import sys


def main() -> None:
    """Run the app; an interrupt while it is being loaded ends it as one does later."""
    gc.disable()  # until all is loaded: what loading makes stays, and looking through it takes time
    try:
        from poscli.cli import app

        app(prog_name="poscli")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
