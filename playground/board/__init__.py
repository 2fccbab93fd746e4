"""The linked matrix board: all matrices of the pipeline, edited in place."""

from playground.board.board import board_data, exhibit_data, show

__all__ = ["board_data", "exhibit_data", "show"]
