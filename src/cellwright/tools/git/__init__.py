"""Git without trust: a repository looked at in a cage, and the one way new commits come into it.

Git itself runs only in a cage (`inside`), and only it unpacks objects. The host reads HEAD, checks by name and content
what the cage delivered, and writes new objects and one branch: no program, hook or setting of a repository runs here.
"""
