"""Bad manners: what the shop does wrong on request, to whom and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field

ALWAYS = -1

MANNERS = {
    "cut_after_order": "the order is stored, then the connection is cut without an answer",
    "cut_before_order": "the connection is cut without an answer and without an order",
    "error_before_store": "the answer is 500 and nothing is stored",
    "error_after_store": "the order is stored, the answer is 500",
    "slow_store_ms": "the order is stored only so much later, then answered; also when the client has gone",
    "store_late_ms": "the order is answered at once but is in the book only so much later",
    "slow_answer_ms": "the order is stored at once and answered so much later",
    "slow_pages_ms": "every page and API answer takes so much longer",
    "price_moves": "the price of a product changes by `by` before it is read on its page or by the API",
    "logout": "the logins of `user`, or of all, are dropped: at once, or when a visit to `path` arrives",
    "rotate_tokens": "a visit to /account changes the remember cookie; the old one is good for `grace_s`",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """What a rule is compared with: one request, as far as the shop knows it."""

    path: str
    user: str = ""
    reference: str = ""
    sku: str = ""


class Rule(BaseModel, extra="forbid"):
    """How often a manner shows (-1: always), how badly, and to whom (None: to everyone)."""

    times: int = Field(default=ALWAYS, ge=ALWAYS)
    ms: int = Field(default=0, ge=0)
    by: Decimal = Decimal("1.00")
    grace_s: float = Field(default=60.0, ge=0)
    bare: bool = False  # cut without a byte: browsers then repeat the request by themselves, see wire.cut
    reference: str | None = None  # a prefix
    user: str | None = None
    path: str | None = None  # a prefix
    sku: str | None = None

    def matches(self, visit: Visit) -> bool:
        """Whether this rule has turns left and speaks of such a visit."""
        return (
            self.times != 0
            and visit.reference.startswith(self.reference or "")
            and visit.path.startswith(self.path or "")
            and self.user in (None, visit.user)
            and self.sku in (None, visit.sku)
        )


class Manners:
    """The rules in force, by manner. They live in memory: a restarted shop behaves."""

    def __init__(self) -> None:
        self._rules: dict[str, list[Rule]] = {}
        self.shown: Counter[str] = Counter()

    def set(self, wanted: Mapping[str, Any]) -> None:
        """Put the rules of the manners named here in place of their old ones; the others stay.

        A manner is a rule, a list of rules (the first that matches is taken), a number (milliseconds for
        `…_ms`, else how many times), true (always) or 0, false or null (off). ValueError when one is wrong;
        then none is changed.
        """
        if unknown := sorted(set(wanted) - set(MANNERS)):
            raise ValueError(f"no such manner: {', '.join(unknown)}; there are: {', '.join(MANNERS)}")
        self._rules |= {name: _rules(name, value) for name, value in wanted.items()}

    def clear(self) -> None:
        """Good manners from now on, and those shown so far forgotten."""
        self._rules.clear()
        self.shown.clear()

    def take(self, name: str, visit: Visit) -> Rule | None:
        """The rule that applies to this visit, with one of its turns used up; None when the shop behaves."""
        for rule in self._rules.get(name, ()):
            if rule.matches(visit):
                rule.times -= rule.times > 0
                self.shown[name] += 1
                return rule
        return None

    def state(self) -> dict[str, Any]:
        """The rules in force with the turns they have left, and how often each manner has been shown."""
        rules = {name: [_brief(rule) for rule in rules] for name, rules in self._rules.items() if rules}
        return {"rules": rules, "shown": dict(self.shown)}


def _rules(name: str, value: Any) -> list[Rule]:
    values = value if isinstance(value, list) else [value]
    return [Rule.model_validate(_long_form(name, one)) for one in values if one not in (None, 0)]


def _long_form(name: str, value: Any) -> Any:
    if value is True:
        return {}
    if isinstance(value, int):
        return {"ms": value} if name.endswith("_ms") else {"times": value}
    return value


def _brief(rule: Rule) -> dict[str, Any]:
    return rule.model_dump(mode="json", exclude_defaults=True) | {"times": rule.times}
