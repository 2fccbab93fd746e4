"""Between the numbers and the pages: texts, figures, the board, and the learner's session."""
