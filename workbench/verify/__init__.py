"""Verification: what is asked of pipelines, how it is decided, and what is answered."""

import sys

# Files that were written by earlier versions, as tests, import these modules for names that the package has.
sys.modules.update({f"{__name__}.{former}": sys.modules["workbench"] for former in ("certify", "equivalence")})
