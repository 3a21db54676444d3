"""`python -m workbench` is the command `workbench`."""

import sys

from workbench.cli.main import main

sys.argv[0] = "workbench"
sys.exit(main())
