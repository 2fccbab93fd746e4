"""Sentences that are positive or negative: where they come from, and models that learn to tell.

A text is cut into tokens (`tokens`), a corpus splits labelled texts into those that are learnt
from and those that are not (`corpus`), four kinds of model read them (`model`), and gradient
descent trains one of them (`training`).
"""
