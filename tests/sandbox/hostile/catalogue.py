"""The hostile suite: every attack, how it is judged, and how it is first shown to be live.

Each attack is one function in `programs/`, made by `program.compose` into plain, self-contained source that is run
two ways: without a cage (`control.run_uncaged`, in `test_controls.py`), where it must succeed, and as a notebook
cell in the cage (`attack_runner.AttackRunner.run`, in `test_no_leak.py`), where it must not. Both runs give a
`Sighting`, and `judge` turns it into `Leaked`, `Held` or `Broken`; a probe that fails for a reason of its own is
`Broken`, never `Held`.

A program prints `{"started": …}`, then at its end one line `{"leak": …, "detail": …}`. Most are judged by that
word or by what changed on the host; those that take resources, go on for ever, outlive their kernel or attack the
host's socket are judged from outside.

Not here, because nothing on an ordinary machine makes them live: AF_ALG sockets and the x32 call gate (not built
into many kernels), `/proc/kcore` (likewise), raising a hard limit (needs CAP_SYS_RESOURCE even from root).
"""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from .judging import (
    CageLimits,
    Judge,
    by_console,
    by_going_on,
    by_host,
    by_kept_size,
    by_memory,
    by_metered_memory,
    by_processes,
    by_survivors,
    by_trace,
    by_word_or_trace,
)
from .program import compose, needs
from .sighting import Sighting

Kind = Literal["leak", "resource"]
Setting = Literal["plain", "namespace", "jail", "terminal", "root"]
"""Where the control runs. plain: the cage's user. namespace: that user as root of its own user, mount, uts, ipc and
network namespaces. jail: the same, in a chroot. terminal: with a controlling terminal. root: harmless, needs root."""
Persistence = Literal["", "until a limit", "although asked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaked:
    """The attack succeeded."""

    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The attack was tried and stopped."""

    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The attack was not really tried: mend the probe."""

    why: str


Judgement = Leaked | Held | Broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One hostile program."""

    name: str
    """The function's name in its module, and the test's id."""
    module: str
    kind: Kind
    judge: Judge
    speaks: bool
    """Whether its own last line is expected to reach us; if so, silence without death is a broken probe."""
    control: Setting = "plain"
    attempt: int = 0
    """How much a filler tries to take."""
    goes_on: Persistence = ""
    """Whether it ends only by force, and what kind."""
    limits: CageLimits = field(default_factory=CageLimits)
    open_on_c: str = ""
    """Why tier C (Landlock and seccomp only) is known not to stop it; empty when it must, as it must on A and B."""
    is_certain: bool = True
    """Whether it always succeeds where it is open; a limit that is looked at from time to time may be quicker."""
    ends_kernel: bool = False
    """Whether the kernel must be gone after it."""

    @property
    def needs(self) -> frozenset[str]:
        """The targets it asks for."""
        return needs(self.module, self.name)

    @property
    def needs_victim(self) -> bool:
        return bool(self.needs & VICTIM_TARGETS) or self.name in READS_EVERYONE

    @property
    def is_long(self) -> bool:
        """Whether it takes seconds, most of them waiting for a limit or for patience to end."""
        return self.goes_on == "although asked" or self.name in LONG

    @property
    def takes_memory(self) -> bool:
        return self.judge in {by_memory, by_metered_memory}

    def source(self, targets: dict[str, Any]) -> str:
        """The program, ready to run: `targets` as `Stage` gives them, with paths as they are where it runs."""
        return compose(self.module, self.name, targets | {"limits": asdict(self.limits), "attempt": self.attempt})


def judge(attack: Attack, seen: Sighting) -> Judgement:
    """What one run shows."""
    if success := attack.judge(seen, attack.limits):
        return Leaked(how=success)
    if attack.speaks and seen.verdict is None and seen.ended != "died":
        return Broken(why=f"{seen.ended} without a verdict: {seen.console[-2000:]}")
    if '"started"' not in seen.console and not seen.console_bytes:
        return Broken(why="never started")
    return Held(how=seen.verdict.detail if seen.verdict else f"the program {seen.ended}")


# ── the table ──

VICTIM_TARGETS: Final = frozenset(
    [
        "victim_pid",
        "vault_pid",
        "key_name",
        "tcp_port",
        "tcp6_port",
        "udp_port",
        "unix_socket",
        "abstract_name",
        "segment",
        "queue",
        "posix_queue",
    ]
)
LONG: Final = frozenset({"flood_with_consoles_of_many_cells"})
READS_EVERYONE: Final = frozenset({"read_every_environment", "read_every_command_line"})

NO_METADATA: Final = "Landlock does not govern metadata: stat, inotify, chmod and utime of what the user could reach"
NO_PID_NAMESPACE: Final = "without a pid namespace other processes of the user can be named"
NO_DISK_CAP: Final = "without a mount namespace the copy's size is only looked at, some times a second"
NO_NET_NAMESPACE: Final = "/proc shows the host's network namespace"
PROCESSORS_ARE_TOLD: Final = "the machine's processors can be counted, which /proc tells there anyway"


def leak(
    module: str,
    *names: str,
    control: Setting = "plain",
    judge: Judge = by_word_or_trace,
    open_on_c: str = "",
    speaks: bool = True,
) -> list[Attack]:
    """Attacks on what must not be reached."""
    return [
        Attack(name=name, module=module, kind="leak", judge=judge, control=control, open_on_c=open_on_c, speaks=speaks)
        for name in names
    ]


def resource(
    name: str,
    judge: Judge,
    *,
    attempt: int = 0,
    speaks: bool = True,
    goes_on: Persistence = "",
    limits: CageLimits | None = None,
    open_on_c: str = "",
    is_certain: bool = True,
    ends_kernel: bool = False,
    module: str = "resources",
) -> list[Attack]:
    """Attacks on what there is a limit to."""
    return [
        Attack(
            name=name, module=module, kind="resource", judge=judge, attempt=attempt, speaks=speaks, goes_on=goes_on,
            limits=limits or CageLimits(), open_on_c=open_on_c, is_certain=is_certain,
            ends_kernel=ends_kernel,
        )
    ]  # fmt: skip


FILES: Final = [
    *leak(
        "files",
        "read_home_credentials",
        "read_through_symlink_in_project",
        "read_through_new_symlink",
        "read_through_symlink_to_directory",
        "read_through_hard_link",
        "read_by_climbing_from_project",
        "read_host_file_of_root",
        "list_home_directory",
        "read_hidden_env_file",
        "read_hidden_private_key",
        "read_hidden_credentials",
        "unhide_by_renaming_file",
        "unhide_by_renaming_parent",
        "unhide_by_hard_link",
        "unhide_by_deleting_mask",
        "use_inherited_directory",
        "use_inherited_file",
    ),
    *leak("files", "stat_host_file", "watch_home_directory", open_on_c=NO_METADATA),
    *leak(
        "files",
        "write_outside_project",
        "overwrite_outside_file",
        "truncate_outside_file",
        "delete_outside_file",
        "move_outside_file_into_project",
        "write_through_symlink_in_project",
        "plant_setuid_file",
        "write_site_packages",
        "write_git_hook",
        "replace_git_directory",
        "write_project_rules",
        judge=by_trace,
    ),
    *leak(
        "files",
        "change_mode_of_outside_file",
        "change_times_of_outside_file",
        judge=by_trace,
        open_on_c=NO_METADATA,
    ),
]
PROCESSES: Final = [
    *leak(
        "processes",
        "read_own_environment",
        "read_own_first_environment",
        "scan_own_memory",
        "read_every_environment",
        "read_memory_through_proc",
        "read_memory_by_syscall",
        "write_memory_by_syscall",
        "attach_with_ptrace",
        "steal_descriptor",
        "read_through_other_root",
        "read_through_other_cwd",
        "read_through_other_descriptor",
        "kill_victim",
        "kill_victim_by_pidfd",
        "kill_parent",
        "enter_other_namespaces",
        "read_victim_key",
        "read_shared_segment",
        "read_message_queue",
        "read_posix_queue",
    ),
    *leak(
        "processes",
        "see_host_processes",
        "read_every_command_line",
        "renice_victim",
        "starve_victim_of_files",
        "pin_victim_to_one_core",
        open_on_c=NO_PID_NAMESPACE,
    ),
]
NETWORK: Final = [
    *leak(
        "network",
        "connect_tcp",
        "connect_tcp_over_ipv6",
        "ask_dns",
        "connect_unix_socket",
        "connect_unix_socket_through_symlink",
        "connect_abstract_socket",
        "list_interfaces_by_netlink",
        "list_host_sockets_by_netlink",
        "open_packet_socket",
        "open_raw_socket",
        "open_vsock_socket",
    ),
    *leak("network", "send_udp", judge=by_trace),
    *leak("network", "list_host_ports_in_proc", open_on_c=NO_NET_NAMESPACE),
]
KERNEL_DOORS: Final = [
    *leak(
        "kernel_doors",
        "set_up_io_uring",
        "add_key",
        "open_perf_event",
        "open_userfaultfd",
        "change_personality",
        "execute_memfd",
        "run_setuid_binary",
    ),
    *leak(
        "kernel_doors",
        "load_bpf",
        "read_kernel_log",
        "open_by_handle",
        "adjust_clock",
        "take_realtime_priority",
        "raise_own_priority",
        "make_device_node",
        control="root",
    ),
]
X86_DOORS: Final = leak("kernel_doors", "call_by_own_machine_code", "call_by_32_bit_gate", "call_by_32_bit_gate_ptrace")
NAMESPACES: Final = [
    *leak(
        "namespaces",
        "unshare_user_namespace",
        "clone_user_namespace",
        "clone3_user_namespace",
        "mount_tmpfs",
        "bind_mount_root",
        "mount_by_new_api",
        "change_hostname",
    ),
    *leak(
        "namespaces",
        "uncover_by_unmounting",
        "uncover_by_cloning_tree",
        "make_read_only_writable",
        "make_read_only_writable_by_attributes",
        "pivot_root",
        control="namespace",
    ),
    *leak("namespaces", "escape_chroot", control="jail"),
]
PROC_AND_SYS: Final = [
    *leak("proc_and_sys", "list_sys"),
    *leak("proc_and_sys", "read_hardware_identity", open_on_c=PROCESSORS_ARE_TOLD),
    *leak("proc_and_sys", "write_any_sysctl", control="namespace"),
    *leak("proc_and_sys", "type_into_terminal", "hold_terminal", control="terminal"),
    *leak(
        "proc_and_sys",
        "write_core_pattern",
        "read_kernel_symbols",
        "write_sys",
        "write_release_agent",
        "leave_cgroup",
        control="root",
    ),
]
RESOURCES: Final = [
    *resource("fork_bomb", by_processes, attempt=400),
    *resource("thread_bomb", by_processes, attempt=400),
    *resource("hog_memory", by_memory, attempt=768),
    *resource("hog_memory_in_many_processes", by_metered_memory, attempt=1200, speaks=False),
    *resource("hide_memory_in_shared_mappings", by_word_or_trace, attempt=1024, speaks=False),
    *resource("fill_memfd", by_memory, attempt=768),
    *resource("fill_shared_memory", by_memory, attempt=768),
    *resource("fill_system_v_memory", by_memory, attempt=768),
    *resource("fill_project", by_word_or_trace, attempt=128),
    *resource("fill_project_in_many_files", by_word_or_trace, attempt=128, open_on_c=NO_DISK_CAP, is_certain=False),
    *resource("fill_temporary_directory", by_word_or_trace, attempt=128),
    *resource("fill_inodes", by_word_or_trace, attempt=5000, open_on_c=NO_DISK_CAP, is_certain=False),
    *resource("make_sparse_giant", by_word_or_trace),
    *resource("hoard_descriptors", by_word_or_trace, attempt=900),
    *resource("lift_own_limits", by_word_or_trace),
    *resource("flood_console", by_console, attempt=32, speaks=False),
    *resource("flood_raw_output", by_console, attempt=32, speaks=False),
    *resource("spin", by_going_on, goes_on="until a limit", speaks=False, limits=CageLimits(cpu_seconds=1)),
    *resource(
        "spin_in_one_long_call", by_going_on, goes_on="although asked", speaks=False, limits=CageLimits(cpu_seconds=5)
    ),
    *resource("swallow_every_interrupt", by_going_on, goes_on="although asked", speaks=False),
    *resource("block_every_signal", by_going_on, goes_on="although asked", speaks=False),
    *resource("replace_interrupt_handler", by_going_on, goes_on="although asked", speaks=False),
    *resource("daemonise", by_survivors),
    *resource("daemonise_stopped", by_survivors),
    *resource("crash_hard", by_survivors, speaks=False),
]
HOST_SOCKET: Final = [
    attack
    for name in (
        "send_garbage",
        "send_unframed_noise",
        "send_forged_message",
        "send_unknown_lane",
        "send_deeply_nested",
        "send_huge_header",
        "send_flood",
        "send_half_frame_and_hang_up",
        "send_pickle",
        "send_storm_of_greetings",
        "flood_console_past_the_guest",
        "flood_with_consoles_of_many_cells",
        "replace_guest",
    )
    for attack in resource(name, by_host, attempt=128, speaks=False, ends_kernel=True, module="host_socket")
] + resource("send_outcomes_of_others", by_host, speaks=False, module="host_socket")
KEEPING: Final = [
    *leak(
        "keeping",
        "leave_links_out_of_project",
        "put_link_where_directory_was",
        "swap_links_while_files_are_kept",
        "leave_repository_in_subdirectory",
        "rewrite_own_notebook",
        judge=by_trace,
    ),
    *resource("leave_sparse_files", by_kept_size, module="keeping"),
    *resource("leave_one_file_under_many_names", by_kept_size, module="keeping"),
]
ATTACKS: Final[list[Attack]] = [
    *FILES,
    *KEEPING,
    *PROCESSES,
    *NETWORK,
    *KERNEL_DOORS,
    *(X86_DOORS if platform.machine() == "x86_64" else []),
    *NAMESPACES,
    *PROC_AND_SYS,
    *RESOURCES,
    *HOST_SOCKET,
]


def attacks_with_a_control_here() -> list[Attack]:
    """All of them for root; for a plain user, those that need no root to be live."""
    is_root = os.geteuid() == 0
    return [attack for attack in ATTACKS if is_root or not (attack.control == "root" or "setuid_id" in attack.needs)]
