"""Keeps the address bar equal to the share link."""

from playground.address_bar.address_bar import show

__all__ = ["show"]
