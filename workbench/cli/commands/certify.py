"""Confirm certificates of verdicts, which `check --certificate` writes, with an SMT solver and random runs."""

from __future__ import annotations

import argparse

from workbench.cli import options as o


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "file", metavar="FILE", help="a file of certificates; run this in the folder in which it was written"
    )
    parser.add_argument("--solver", default="", metavar="COMMAND", help="an SMT solver, as 'cvc5' (default: z3)")
    parser.add_argument(
        "--runs", type="positive", default=50, metavar="N", help="random runs for each transition system (default: 50)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random runs (default: 0)")
    o.include_option(parser)
    o.python_option(parser)
    o.limit_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Check the certificates and print what each confirms."""
    from workbench.budget import Budget
    from workbench.cli.progress import Progress
    from workbench.verify.proof.check_certificate import check_certificate

    with Budget(args.timeout, args.memory):
        confirmations = check_certificate(args.file, runs=args.runs, seed=args.seed, solver=args.solver)
        while True:
            with Progress("checking a certificate"):
                each = next(confirmations, None)
            if each is None:
                return 0
            print(f"✓ certified  {each}", flush=True)
