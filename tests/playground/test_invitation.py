import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.invitation import CONTROLS, MOST_NOTE, VIEWS, Invitation, noted, read


def test_an_address_that_asks_for_nothing_shows_the_app_as_it_is():
    invitation = read({"lang": "en"})

    assert invitation == Invitation("", None, "")
    assert set(invitation.query().values()) == {""}


def test_an_address_asks_for_a_layout_controls_and_a_note():
    invitation = read({"view": "projector", "c": "mask.d_k", "n": "Try the mask."})

    assert invitation == Invitation("projector", ("d_k", "mask"), "Try the mask.")


def test_no_control_at_all_is_something_else_than_nothing_said():
    assert read({"c": "-"}).controls == ()
    assert Invitation(controls=()).query()["c"] == "-"


def test_what_is_unknown_is_left_out():
    assert read({"view": "cinema", "c": "d_k.password.d_k"}) == Invitation("", ("d_k",), "")


invitations = st.builds(
    Invitation,
    st.sampled_from(VIEWS),
    st.none()
    | st.sets(st.sampled_from(CONTROLS)).map(lambda s: tuple(c for c in CONTROLS if c in s)),
    st.text(max_size=300).map(noted),
)


@given(invitations)
def test_what_was_written_is_read_again(invitation):
    assert read(invitation.query()) == invitation


@given(st.dictionaries(st.sampled_from(["view", "c", "n"]), st.text()))
def test_any_address_is_read_as_something_that_can_be_written(query):
    invitation = read(query)

    assert read(invitation.query()) == invitation
    assert len(invitation.note) <= MOST_NOTE


@pytest.mark.parametrize("unseen", ["\u202e", "\x00", "\u2067", "\ufeff", "\x1b", "\ud800"])
def test_a_note_holds_only_what_is_seen(unseen):
    assert noted(f"a{unseen}b") == "ab"


def test_a_note_is_one_line_of_bounded_length():
    assert noted(" one\n\ntwo\t three ") == "one two three"
    assert len(noted("x" * 10_000)) == MOST_NOTE
