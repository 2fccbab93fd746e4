"""Puts the mend of a fault of Streamlit in place, once for the process."""

from collections.abc import Callable
from functools import wraps
from typing import Any


def put(owner: type, name: str, sign: str, around: Callable[..., Any]) -> None:
    """Let a method of Streamlit do this instead, also after the code was loaded anew.

    Args:
        owner: The class that has the method.
        name: Of the method.
        sign: What tells that it is mended: an attribute that it gets.
        around: Called with the method as it is, and then with what the method is called with.
    """
    own = getattr(owner, name)
    if hasattr(own, sign):
        return

    @wraps(own)
    def mended(*args: Any, **kwargs: Any) -> Any:
        return around(own, *args, **kwargs)

    setattr(mended, sign, True)
    setattr(owner, name, mended)
