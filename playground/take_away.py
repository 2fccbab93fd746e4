"""What a learner takes away as a file, and brings back."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import streamlit as st

from attention_core import AttentionError, Experiment
from attention_core.document import from_json, to_json
from attention_core.export import csv_archive, npz
from attention_core.program import notebook, numpy_script, pytorch_script
from playground import session
from playground.texts import Texts, small

SECTION_KEY, UPLOAD_KEY = "take_away", "file"  # of the widgets
_OPENED = "opened"  # the upload that was taken last


class Kind(NamedTuple):
    """A kind of file: its label, what makes it, and how a browser takes it."""

    text: str
    make: Callable[[Experiment], str | bytes]
    file_name: str
    mime: str
    icon: str


KINDS = [
    Kind("take_away.json", to_json, "attention-experiment.json", "application/json", "save"),
    Kind("take_away.numpy", numpy_script, "attention_numpy.py", "text/x-python", "code"),
    Kind("take_away.pytorch", pytorch_script, "attention_torch.py", "text/x-python", "code"),
    Kind("take_away.notebook", notebook, "attention.ipynb", "application/x-ipynb+json", "book"),
    Kind("take_away.csv", csv_archive, "attention-csv.zip", "application/zip", "table"),
    Kind("take_away.npz", npz, "attention.npz", "application/octet-stream", "deployed_code"),
]


def panel(t: Texts) -> None:
    """The section in which files are saved and opened.

    A file is made when it is asked for, from the experiment as it is then. The section
    is drawn only while it is open, or each run would send its buttons anew. It is an expander
    since the Tab key goes from its heading into it; into a popover it goes last of all.
    """
    section = st.expander(
        t("take_away.file"), icon=":material/folder:", key=SECTION_KEY, on_change="rerun"
    )
    if section.open:
        with section:
            _save(t)
            st.file_uploader(
                t("take_away.open"),
                type="json",
                key=UPLOAD_KEY,
                help=t("take_away.open_help"),
                max_upload_size=1,  # MB
                on_change=_open,
            )


def _save(t: Texts) -> None:
    with st.container(gap=None):
        st.markdown(small(t("take_away.save")))
        for kind in KINDS:
            st.download_button(
                t(kind.text),
                partial(_made, kind, session.latest()),
                file_name=kind.file_name,
                mime=kind.mime,
                icon=f":material/{kind.icon}:",
                key=kind.text,
                on_click="ignore",
                type="tertiary",
            )


def _made(kind: Kind, latest: Callable[[], Experiment]) -> str | bytes:
    """The file of the experiment as the session has it, which the board may have changed since."""
    return kind.make(latest())


def _open() -> None:
    """Open a file once; a late message of a page that was left calls this again for the same."""
    uploaded = st.session_state[UPLOAD_KEY]
    if uploaded is None or uploaded.file_id == st.session_state.get(_OPENED):
        return
    st.session_state[_OPENED] = uploaded.file_id
    try:
        opened = from_json(uploaded.getvalue())
    except AttentionError as error:
        session.notify("damaged_file", error)
    except ValueError:
        session.notify("no_json_file")
    else:
        session.apply(lambda _: opened, moves_cells=True)
