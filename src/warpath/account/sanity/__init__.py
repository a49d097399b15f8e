"""What a reader should know about a launch: small rules, each of which looks at one thing."""

from __future__ import annotations

from warpath.account.sanity import compiled, memory, shape, waiting
from warpath.account.sanity.kit import Case, Rule
from warpath.gpu.spec import Gpu
from warpath.report.model import Diagnosis, KernelInfo, Launch

# In the order in which they are shown: what makes the measurement itself doubtful comes first.
RULES: tuple[Rule, ...] = (
    compiled.folded_work,
    compiled.dead_work,
    memory.l2_resident,
    compiled.hidden_fp64,
    compiled.spills,
    compiled.local_array,
    shape.few_sms,
    shape.tail_wave,
    shape.occupancy_limited,
    waiting.serialised_lock,
    waiting.contended_atomics,
    waiting.low_parallelism_latency,
    memory.unused_bytes,
    memory.redundant_loads,
    memory.bank_conflicts,
    shape.unused_lanes,
)


def diagnose(launch: Launch, kernel: KernelInfo | None, gpu: Gpu) -> list[Diagnosis]:
    """What every rule has to say about `launch`, whose `flow` is filled in; nothing without instructions."""
    case = Case(launch, kernel, gpu)
    return [found for rule in RULES for found in rule(case)] if launch.instructions else []
