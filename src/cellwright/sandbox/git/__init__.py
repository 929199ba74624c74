"""Git without trust: a repository looked at in a cage, and the one way new commits come into it.

Git itself runs only in a cage (`inside`), and only it unpacks objects. The host reads HEAD, checks by name and content
what the cage delivered, and writes new objects and one branch: no program, hook or setting of a repository runs here.
"""

from cellwright.sandbox.git.delivery import Answer, Delivery, Question, Skipped, WorkChange, read_answer
from cellwright.sandbox.git.importing import Author, FoundCommit, NewCommit, check_branch, import_commit, read_commit
from cellwright.sandbox.git.objects import Unsound
from cellwright.sandbox.git.patch import patch_of
from cellwright.sandbox.git.repository import Head, Repository, find_repository
from cellwright.sandbox.git.setting import WHERE_GIT_IS, GitPlan, plan_cage
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
    "Question",
    "Repository",
    "Skipped",
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
