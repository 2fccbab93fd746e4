"""The linked matrix board: all matrices of the pipeline, edited in place."""

from playground.board.board import show

__all__ = ["show"]
