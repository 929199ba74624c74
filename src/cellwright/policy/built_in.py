"""What holds before anybody writes a rule: the built-in rules, and what is said about actions no rule speaks of."""

from __future__ import annotations

from typing import Final

from cellwright.policy.actions import TRAITS, Kind
from cellwright.policy.money import Money
from cellwright.policy.paths import is_within
from cellwright.policy.rule_file import RuleText
from cellwright.policy.rules import RuleEffect
from cellwright.policy.targets import FileTarget, PriceTarget, Target

BUILT_IN_RULES: Final = RuleText.of(
    "built-in",
    "built-in rules",
    """\
[[rule]]
action = ["edit-cells", "run-code", "write-file", "delete-file"]
then = "deny"
paths = ["/**/.git/**", "/**/.cellwright/**"]
reason = "History and rules are not an agent's to change."

[[rule]]
action = ["read-file", "write-file", "delete-file"]
then = "ask"
paths = [
  "/**/.env", "/**/.env.*", "/**/*.pem", "/**/*.key", "/**/id_rsa*", "/**/id_ed25519*", "/**/.netrc", "/**/.pgpass",
  "/**/.ssh/**", "/**/.aws/**", "/**/.gnupg/**",
]
reason = "Such files hold secrets."

[[rule]]
action = "use-network"
then = "deny"
hosts = [
  "169.254.0.0/16", "[fe80::]/10", "[fd00:ec2::254]", "[64:ff9b::a9fe:0]/112", "metadata.google.internal",
]
reason = "Cloud machines hand out their credentials there."

[[rule]]
action = "use-network"
then = "ask"
hosts = ["127.0.0.0/8", "0.0.0.0/8", "[::1]", "[::]", "localhost", "*.localhost"]
reason = "These are services of this machine itself."
""",
)


def default_for(kind: Kind, target: Target, project: str) -> RuleEffect:
    """What holds for an action no rule of the person speaks of.

    Allowed are only what the cage, the notebook's history or a budget bounds anyway, and only inside the project or at
    a known price.
    """
    match target:
        case FileTarget(path=path) if not is_within(path, project):
            return "ask"
        case PriceTarget(price=price) if not isinstance(price, Money):
            return "ask"
        case _:
            return TRAITS[kind].default
