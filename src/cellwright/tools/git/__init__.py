"""Git without trust: a repository looked at in a cage, and the one way new commits come into it.

Git itself runs only in a cage (`inside`), and only it unpacks objects. The host reads HEAD, checks by name and content
what the cage delivered, and writes new objects and one branch: no program, hook or setting of a repository runs here.
"""

from cellwright.sandbox.host.git_files import Unsound
from cellwright.sandbox.host.git_repository import Head, Repository, find_repository
from cellwright.tools.git.cage import (
    WHERE_GIT_IS,
    GitAnswer,
    GitDelivery,
    GitPlan,
    GitRequest,
    SkippedChange,
    WorkChange,
    plan_cage,
    read_answer,
)
from cellwright.tools.git.checked_delivery import CheckedDelivery, TreeChange, check_delivery, patch_of
from cellwright.tools.git.commit_import import Author, FoundCommit, NewCommit, check_branch, import_commit, read_commit

__all__ = [
    "WHERE_GIT_IS",
    "Author",
    "CheckedDelivery",
    "FoundCommit",
    "GitAnswer",
    "GitDelivery",
    "GitPlan",
    "GitRequest",
    "Head",
    "NewCommit",
    "Repository",
    "SkippedChange",
    "TreeChange",
    "Unsound",
    "WorkChange",
    "check_branch",
    "check_delivery",
    "find_repository",
    "import_commit",
    "patch_of",
    "plan_cage",
    "read_answer",
    "read_commit",
]
