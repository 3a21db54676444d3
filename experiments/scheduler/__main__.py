"""The command of this folder: `python -m experiments.scheduler show|check|export ...`, as a command of workbench."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.environ["WORKBENCH_EXTENSIONS"] = str(Path(__file__).parent)
    from workbench.cli.main import main

    sys.argv[1:1] = ["dataflow"]
    sys.exit(main())
