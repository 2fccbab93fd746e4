"""The strip: a message that is passed along a row of tokens, or heard at a table, step by step."""

from playground.strip.strip import Lane, Passing, Strip, show

__all__ = ["Lane", "Passing", "Strip", "show"]
