"""A bounded store of answers that only save work: losing any of it never changes a result.

Two generations: new entries go into the young one; when that is full it becomes the old one and the old one is
forgotten. An entry that is found in the old one moves up. That is nearly an LRU at the price of a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Memo(Generic[Value]):
    """Keeps values up to about `max_bytes`, as `cost` estimates the bytes that one of them holds."""

    __slots__ = ("_cost", "_half", "_old", "_spent", "_young")

    def __init__(self, max_bytes: int, cost: Callable[[Value], int]) -> None:
        self._half = max_bytes // 2
        self._cost = cost
        self._young: dict[Hashable, Value] = {}
        self._old: dict[Hashable, Value] = {}
        self._spent = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def recall(self, key: Hashable) -> Value | None:
        """The value of a key, None when it is not known (any more)."""
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.keep(key, value)
        return value

    def recall_all(self, keys: Sequence[Hashable]) -> list[Value | None]:
        """The values of many keys, in order."""
        found = list(map(self._young.get, keys))
        if None in found and self._old:
            return [self.recall(key) if value is None else value for key, value in zip(keys, found, strict=True)]
        return found

    def keep(self, key: Hashable, value: Value) -> None:
        """Keeps a value; what was used longest ago may go."""
        self._spent += self._cost(value)
        self._young[key] = value
        if self._spent > self._half:
            self._old, self._young, self._spent = self._young, {}, 0
