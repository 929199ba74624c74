"""The cage itself: started by the zygote, built and held by its init.

`launcher` starts and ends one, `init` is its process 1 and `supervisor` the loop that answers the host; the others
build the file tree, confine the kernel and tell what changed. The standard library only.
"""
