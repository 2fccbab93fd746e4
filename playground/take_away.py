"""What a learner takes away as a file, and brings back."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from urllib.parse import urljoin

import streamlit as st

from attention_core import AttentionError, Experiment
from attention_core.document import from_json, to_json
from attention_core.export import csv_archive, npz
from attention_core.program import notebook, numpy_script, pytorch_script
from playground import handout, invitation, lesson_link, session
from playground.board.board import board_data
from playground.catalog import LESSONS
from playground.session import Seen
from playground.texts import Texts, small

SECTION_KEY, UPLOAD_KEY = "take_away", "file"  # of the widgets
_OPENED = "opened"  # the upload that was taken last


class Kind(NamedTuple):
    """A kind of file: its label, what makes it, and how a browser takes it."""

    text: str
    make_of: Callable[[Seen], str | bytes]
    file_name: str
    mime: str
    icon: str

    def make(self, experiment: Experiment) -> str | bytes:
        """The file of an experiment, seen by nobody yet."""
        return self.make_of(Seen(experiment))


def _of(make: Callable[[Experiment], str | bytes]) -> Callable[[Seen], str | bytes]:
    """A file of the numbers alone, whatever language and head are shown."""
    return lambda seen: make(seen.experiment)


def _handout(seen: Seen) -> str:
    """All heads as the board shows them, and the way back to the app where there is one."""
    t, trace = Texts(seen.language), seen.experiment.trace()
    heads = range(seen.experiment.n_heads)
    boards = [board_data(t, seen.experiment, trace, head) for head in heads]
    return handout.page(t, seen.experiment, trace, boards, seen.head, _link(seen))


def _link(seen: Seen) -> str:
    """The experiment on the Playground; "" where no address of the app can be given away."""
    if not seen.url.startswith(("http://", "https://")):
        return ""
    invited = replace(invitation.read(seen.invitation), view="")  # a projector is the teacher's
    asked = lesson_link.query(seen.experiment, seen.language, head=seen.head, invitation=invited)
    address = lesson_link.whole(urljoin(seen.url, "."), LESSONS[0].id, asked)
    return address if lesson_link.is_within_budget(address) else ""


HANDOUT = Kind("take_away.handout", _handout, "attention-handout.html", "text/html", "print")
KINDS = [
    Kind("take_away.json", _of(to_json), "attention-experiment.json", "application/json", "save"),
    HANDOUT,
    Kind("take_away.numpy", _of(numpy_script), "attention_numpy.py", "text/x-python", "code"),
    Kind("take_away.pytorch", _of(pytorch_script), "attention_torch.py", "text/x-python", "code"),
    Kind(
        "take_away.notebook", _of(notebook), "attention.ipynb", "application/x-ipynb+json", "book"
    ),
    Kind("take_away.csv", _of(csv_archive), "attention-csv.zip", "application/zip", "table"),
    Kind("take_away.npz", _of(npz), "attention.npz", "application/octet-stream", "deployed_code"),
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
            offer(t, kind, key=kind.text)


def offer(t: Texts, kind: Kind, *, key: str) -> None:
    """A button that saves a file of this kind."""
    st.download_button(
        t(kind.text),
        partial(_made, kind, session.latest()),
        file_name=kind.file_name,
        mime=kind.mime,
        icon=f":material/{kind.icon}:",
        key=key,
        on_click="ignore",
        type="tertiary",
    )


def _made(kind: Kind, latest: Callable[[], Seen]) -> str | bytes:
    """The file of what the session shows by then, which the board may have changed since."""
    return kind.make_of(latest())


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
