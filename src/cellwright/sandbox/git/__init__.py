"""Git without trust: a repository read by our own eyes, and the one way new commits come into it.

Git itself runs only in a cage (`inside`). The host reads HEAD and objects, checks what the cage delivered, and writes
new objects and one new branch: no program of git's, no hook and no setting of the repository ever runs here.
"""

from cellwright.sandbox.git.delivery import Answer, Delivery, Question, Skipped, WorkChange, read_answer
from cellwright.sandbox.git.importing import Author, FoundCommit, NewCommit, check_branch, found_commit, import_commit
from cellwright.sandbox.git.objects import Unsound
from cellwright.sandbox.git.patch import patch_of
from cellwright.sandbox.git.repository import Head, Repository, find_repository
from cellwright.sandbox.git.setting import WHERE_GIT_IS, GitPlan, plan_cage
from cellwright.sandbox.git.store import ObjectStore
from cellwright.sandbox.git.verify import Checked, TreeChange, check_delivery

__all__ = [
    "WHERE_GIT_IS",
    "Answer",
    "Author",
    "Checked",
    "Delivery",
    "FoundCommit",
    "GitPlan",
    "Head",
    "NewCommit",
    "ObjectStore",
    "Question",
    "Repository",
    "Skipped",
    "TreeChange",
    "Unsound",
    "WorkChange",
    "check_branch",
    "check_delivery",
    "find_repository",
    "found_commit",
    "import_commit",
    "patch_of",
    "plan_cage",
    "read_answer",
]
