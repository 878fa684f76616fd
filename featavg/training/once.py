"""What is computed when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """`functools.cached_property` without its lock, which in a step of a small run costs as much as the numbers.

    >>> class Square:
    ...     side = 3
    ...
    ...     @once
    ...     def area(self):
    ...         print("computed")
    ...         return self.side**2
    >>> square = Square()
    >>> square.area + square.area
    computed
    18
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self.find, self.__doc__ = find, find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> once[T] | T:
        if instance is None:
            return self
        # From now on it is an attribute of the instance, which Python finds first.
        value = instance.__dict__[self.name] = self.find(instance)
        return value
