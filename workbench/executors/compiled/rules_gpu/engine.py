"""The engine `gpu`: rules on devices, and on the host those that devices do not take.

The rule of this module: what is told, and in what order, is what one engine tells (`placing`): rules on devices look at
nothing that others emit.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from workbench.errors import EngineMissing, InputError, Refused
from workbench.executors.compiled.gpu.batch import gpu_name
from workbench.executors.compiled.rules.lines import OTHERS
from workbench.executors.compiled.rules.placing import PartHistory
from workbench.executors.compiled.rules.threads import RuleThreads
from workbench.executors.compiled.rules_gpu.placement import RulePlacement, rule_placement
from workbench.executors.threaded.manager import ThreadManager
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.facts import changing_tables
from workbench.tesla.engines.rule_split import RuleSplit, balance_work
from workbench.tesla.engines.total_order import longest_reach
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Facts
from workbench.tesla.rule_set import RuleSet


def gpu_rules(rules: RuleSet, facts: Facts, settings: EngineSettings) -> GpuRules:
    """The engine.

    Raises
    ------
    EngineMissing: there is no device.
    Refused: no rule can run on one.
    """
    if why := missing_device():
        hint = "`workbench doctor` shows devices, and what they need; --backend compiled needs none"
        raise EngineMissing(f"the engine 'gpu' needs an NVIDIA GPU: {why}", hint=hint)
    if settings.trex or not settings.indexed:
        raise Refused("the engine 'gpu' has no windows as T-Rex has them, and no way without indexes", hint=OTHERS)
    if settings.profiled:
        raise Refused("on a device nobody counts what rules cost", hint="leave --profile out")
    if changing_tables(facts):
        raise InputError(
            "facts in a database that may change are not for devices", hint="promise that they do not: --facts-fixed"
        )
    made = GpuRules(rules, facts, settings)
    if made.by_blocks:
        raise Refused("a device has room for facts that are kept, and not for large tables", hint=OTHERS)
    return made


def missing_device() -> str:
    """What it needs that there is not; nothing where there is a device."""
    if find_spec("numba") is None or find_spec("numba_cuda") is None:
        return "the package numba-cuda is not installed (pip install 'workbench[gpu]')"
    if not gpu_name():
        return "no driver answers, or it has no device"
    from workbench.executors.compiled.gpu import cuda

    return "numba's simulator stands for one, which has not all instructions" if cuda.SIMULATED else ""


class GpuRules(RuleThreads):
    """Rules on devices, with the others on the host.

    Parameters
    ----------
    code: of the host's rules, as `CompiledRules` has it.
    sizes: `part.DeviceRules` has them.
    """

    parted, hint = "on a GPU", OTHERS

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, code: bool | None = None, **sizes: int
    ) -> None:
        super().__init__(rules, facts, settings, RuleSplit([]), code)
        assert self._first is not None
        self._running, self._first = self._first.running, None
        self.sizes = sizes
        self.placement: RulePlacement = rule_placement(self.program.plan)
        if not self.placement.sources:
            told = "; ".join(f"{rules.rules[rule].name}: {why}" for rule, why in self.placement.host.items())
            raise Refused(f"no rule can run on a device: {told}", hint=OTHERS)

    def _share(self, block: EventBlock | None) -> None:
        """Rules to devices, by how many steps they have, and the others to the host."""
        del block
        if self.parts:
            return
        from workbench.executors.compiled.rules_gpu.device import devices
        from workbench.executors.compiled.rules_gpu.part import DeviceRules

        found: list[Any] = []
        if self.placement.host:
            found.append(self._part(self.program.of(self.placement.host)))
        rules, numbers = list(self.placement.sources), devices()
        shares = balance_work([float(len(self.placement.sources[rule].steps)) for rule in rules], len(numbers))
        for number, share in zip(numbers, shares, strict=False):
            found.append(DeviceRules(self._running, self.placement, [rules[i] for i in share], number, **self.sizes))
        self.parts, self._manager = found, ThreadManager(len(found) - 1)
        self._histories = [PartHistory(longest_reach(self.rules, self.settings.trex)) for _ in self.parts]
