"""System call numbers of the two processors we know, for the names we use or refuse."""

from __future__ import annotations

import platform

MACHINE = platform.machine()

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_NEW = {
    # From 424 on, both processors number alike.
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "quotactl_fd": 443, "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
    "memfd_secret": 447, "process_mrelease": 448, "set_mempolicy_home_node": 450, "fchmodat2": 452,
    "statmount": 457, "listmount": 458, "lsm_get_self_attr": 459, "lsm_set_self_attr": 460,
    "lsm_list_modules": 461, "open_tree_attr": 467, "file_setattr": 469,
}  # fmt: skip

NEWEST = 469
"""The last call of Linux 6.18. Up to it every call was looked at; `docs/design/032-other-machines.md` says how."""

NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": _NEW | {
        "mq_open": 240, "mq_unlink": 241, "msgctl": 71, "msgget": 68, "msgrcv": 70, "msgsnd": 69, "semctl": 66,
        "semget": 64, "semop": 65, "semtimedop": 220, "shmat": 30, "shmctl": 31,
        "_sysctl": 156, "accept": 43, "accept4": 288, "acct": 163, "add_key": 248, "adjtimex": 159,
        "afs_syscall": 183, "bind": 49, "bpf": 321, "capset": 126, "chmod": 90, "clock_adjtime": 305,
        "clock_settime": 227, "clone": 56, "connect": 42, "creat": 85, "create_module": 174,
        "delete_module": 176, "fanotify_init": 300, "fanotify_mark": 301, "fchmod": 91, "fchmodat": 268,
        "finit_module": 313, "get_kernel_syms": 177, "init_module": 175, "ioctl": 16, "ioperm": 173, "iopl": 172,
        "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "listen": 50,
        "lookup_dcookie": 212, "mbind": 237, "memfd_create": 319, "migrate_pages": 256, "mknod": 133,
        "mknodat": 259, "modify_ldt": 154, "mount": 165, "move_pages": 279, "name_to_handle_at": 303,
        "nfsservctl": 180, "open": 2, "open_by_handle_at": 304, "openat": 257, "perf_event_open": 298,
        "personality": 135, "pivot_root": 155, "process_vm_readv": 310, "process_vm_writev": 311,
        "ptrace": 101, "query_module": 178, "quotactl": 179, "reboot": 169, "request_key": 249,
        "seccomp": 317, "set_mempolicy": 238, "setdomainname": 171, "sethostname": 170, "setns": 308, "setsockopt": 54,
        "settimeofday": 164, "shmget": 29, "socket": 41, "socketpair": 53, "swapoff": 168, "swapon": 167,
        "sysfs": 139, "syslog": 103, "umount2": 166, "unshare": 272, "uselib": 134, "userfaultfd": 323,
        "ustat": 136, "vhangup": 153, "vserver": 236,
    },
    "aarch64": _NEW | {
        "mq_open": 180, "mq_unlink": 181, "msgctl": 187, "msgget": 186, "msgrcv": 188, "msgsnd": 189, "semctl": 191,
        "semget": 190, "semop": 193, "semtimedop": 192, "shmat": 196, "shmctl": 195,
        "accept": 202, "accept4": 242, "acct": 89, "add_key": 217, "adjtimex": 171, "bind": 200, "bpf": 280,
        "capset": 91, "clock_adjtime": 266, "clock_settime": 112, "clone": 220, "connect": 203,
        "delete_module": 106, "fanotify_init": 262, "fanotify_mark": 263, "fchmod": 52, "fchmodat": 53,
        "finit_module": 273, "init_module": 105, "ioctl": 29, "kcmp": 272, "kexec_file_load": 294,
        "kexec_load": 104, "keyctl": 219, "listen": 201, "lookup_dcookie": 18, "mbind": 235,
        "memfd_create": 279, "migrate_pages": 238, "mknodat": 33, "mount": 40, "move_pages": 239,
        "name_to_handle_at": 264, "nfsservctl": 42, "open_by_handle_at": 265, "openat": 56,
        "perf_event_open": 241, "personality": 92, "pivot_root": 41, "process_vm_readv": 270,
        "process_vm_writev": 271, "ptrace": 117, "quotactl": 60, "reboot": 142, "request_key": 218,
        "seccomp": 277, "set_mempolicy": 237, "setdomainname": 162, "sethostname": 161, "setns": 268, "setsockopt": 208,
        "settimeofday": 170, "shmget": 194, "socket": 198, "socketpair": 199, "swapoff": 225, "swapon": 224,
        "syslog": 116, "umount2": 39, "unshare": 97, "userfaultfd": 282, "vhangup": 58,
    },
}  # fmt: skip


def number(name: str) -> int:
    """The number of a system call on this machine; `OSError(ENOSYS)` where we have no table."""
    table = NUMBERS.get(MACHINE)
    if table is None or name not in table:
        raise OSError(38, f"no system call number for {name!r} on {MACHINE}")
    return table[name]
