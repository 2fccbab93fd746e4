"""Attention Playground: `streamlit run app.py`."""

from playground import shell

shell.route().run()
