"""What the operating system offers a cage: system calls, control groups, Landlock, seccomp, processes, mounts.

The standard library only: everything here also runs in the zygote and in a cage's init.
"""
