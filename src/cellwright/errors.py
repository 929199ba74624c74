"""Every error Cellwright raises, in one tree sorted by who can act.

```
CellwrightError
├─ UserError         the person can fix it: bad goal, unknown data source, broken notebook
├─ RefusedByPolicy   the approver can change it: no sandbox here, an action outside the envelope
├─ Unavailable       retrying may help: provider, database, sandbox host
│  ├─ KernelLost        the process that ran the notebook is gone; replay brings it back
│  └─ ModelUnavailable  no model of the chain answered; says what was tried
└─ Defect            we must fix it; carries a report id
```

Expected outcomes (a cell that raised, a refused edit) are values, not members of this tree.
"""

from __future__ import annotations

import secrets

from cellwright.remedies import Hint, Remedy, sentence_of


class CellwrightError(Exception):
    """What went wrong, about which thing, and in `hint` what to do next.

    Where that is spelled differently at a terminal and in the page, it is a `Remedy`.
    """

    remedy: Remedy | None = None

    def __init__(self, message: str, *, hint: Hint = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = sentence_of(hint)
        """In words for every reader."""
        if isinstance(hint, Remedy):
            self.remedy = hint

    @property
    def advice(self) -> Hint:
        """What to do next, to be worded by whoever shows it, or passed on with another error."""
        return self.remedy or self.hint


class UserError(CellwrightError):
    """The person can fix it."""


class RefusedByPolicy(CellwrightError):
    """A rule says no; whoever owns the rule can change it."""


class Unavailable(CellwrightError):
    """Something outside is not there now; trying again may help."""


class KernelLost(Unavailable):
    """The kernel ended before it answered."""


class ModelUnavailable(Unavailable):
    """Every model that could have answered was tried, or may not be used."""


class Defect(CellwrightError):
    """Our own mistake, with an id that finds it again in the log."""

    def __init__(self, message: str, *, hint: Hint = "") -> None:
        super().__init__(message, hint=hint or "Please report this with its id.")
        self.report_id = secrets.token_hex(4)
