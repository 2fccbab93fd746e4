"""Words of a sentence, and the form that makes tokens of them."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from attention_core import Experiment, from_plain, to_plain
from attention_core.canvas import MAX_SEED, MAX_TOKENS
from attention_core.errors import ChoiceError
from attention_core.experiment import MAX_TOKEN_LENGTH
from attention_core.words import embedding, with_words
from playground import link
from playground.sentence import HOW, MOST_TEXT, split
from playground.sentence_form import SECTION_KEY
from playground.texts import LANGUAGES, Texts, small
from tests.playground.experiments import experiments

ROOT = Path(__file__).parents[2]

every_way = pytest.mark.parametrize("how", HOW)
every_language = pytest.mark.parametrize("language", LANGUAGES)

# Pieces of text in which one character of a reader is several to a program, and other traps.
PIECES = [
    *("👨‍👩‍👧‍👦", "🇨🇳", "🏴\U000e0067\U000e0062\U000e007f", "e\u0301", "क्षि", "\u1112\u1161\u11ab"),
    *("我喜欢苹果", "北京大学", "，", "word", "don't", " ", "\u3000", "\n", "\t", "\u200b"),
    *("\u200d", "\ufeff", "\u202e", "\x00", "\x85", "\u2028", "\ud83d", "\u115f"),
    *("a" * 300, "\u0301" * 250),
]
texts = st.one_of(
    st.text(),
    st.text(st.characters(exclude_categories=[])),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
)
known_and_new = st.sampled_from(["苹果", "the", "t1", "x"])


def words_of(text, how):
    return list(split(text, how).words)


# --- the three ways


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the cat sat", ["the", "cat", "sat"]),
        ("  the \t cat\n\nsat\r\n", ["the", "cat", "sat"]),
        ("我\u3000喜欢\u3000苹果", ["我", "喜欢", "苹果"]),
        ("no\u00a0break\u2009thin\u2028line", ["no", "break", "thin", "line"]),
        ("“Stop,” she said.", ["“Stop,”", "she", "said."]),
        ("1 2020-01-01 <b>x</b> $y$", ["1", "2020-01-01", "<b>x</b>", "$y$"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("我喜欢苹果", ["我喜欢苹果"]),
    ],
)
def test_words_lie_between_spaces_of_every_kind(text, words):
    assert words_of(text, "spaces") == words


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("我 喜欢", ["我", "喜", "欢"]),
        ("a b,", ["a", "b", ","]),
        ("👨‍👩‍👧‍👦👍🏽❤️‍🔥1️⃣", ["👨‍👩‍👧‍👦", "👍🏽", "❤️‍🔥", "1️⃣"]),
        ("🇨🇳🇩🇪🇫", ["🇨🇳", "🇩🇪", "🇫"]),
        ("cafe\u0301", ["c", "a", "f", "e\u0301"]),
        ("नमस्ते", ["न", "म", "स्ते"]),
        ("தமிழ்", ["த", "மி", "ழ்"]),
        ("한국\u1112\u1161\u11ab", ["한", "국", "\u1112\u1161\u11ab"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),
    ],
)
def test_characters_are_what_a_reader_counts(text, characters):
    assert words_of(text, "characters") == characters


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我来到北京清华大学。", ["我", "来到", "北京", "清华大学", "。"]),
        ("南京市长江大桥", ["南京市", "长江大桥"]),
        ("我 喜欢苹果", ["我", "喜欢", "苹果"]),
        ("他說：你好嗎？", ["他", "說", "：", "你好", "嗎", "？"]),
        ("I love 北京!", ["I", "love", "北京", "!"]),
        ("👨‍👩‍👧‍👦喜欢🇨🇳", ["👨‍👩‍👧‍👦", "喜欢", "🇨🇳"]),
        ("cafe\u0301", ["cafe\u0301"]),
    ],
)
def test_chinese_words_come_from_a_dictionary_and_break_no_character(text, words):
    assert words_of(text, "chinese") == words


def test_there_is_no_fourth_way():
    with pytest.raises(
        ChoiceError, match="how must be one of spaces, characters, chinese, got 'bytes'"
    ):
        split("a", "bytes")


# --- what does not fit


@every_way
@pytest.mark.parametrize("text", ["", " \n\u3000", "\u200b\ufeff", "\x00\x07", "\u200d", "\ud800"])
def test_where_nothing_can_be_seen_there_are_no_words(text, how):
    assert split(text, how) == ((), 0, 0, False)


def test_twelve_words_are_taken_and_the_others_counted():
    twelve = " ".join("abcdefghijkl")

    assert split(twelve, "spaces") == (tuple("abcdefghijkl"), 0, 0, False)
    assert split(f"{twelve} m n", "spaces") == (tuple("abcdefghijkl"), 2, 0, False)


def test_a_word_beyond_two_hundred_characters_is_shortened_and_counted():
    fits, long = "a" * MAX_TOKEN_LENGTH, "b" * (MAX_TOKEN_LENGTH + 1)

    words, n_left_out, n_shortened, is_cut = split(f"{fits} {long} c", "spaces")

    assert words == (fits, long[:MAX_TOKEN_LENGTH], "c")
    assert (n_left_out, n_shortened, is_cut) == (0, 1, False)


def test_a_long_word_that_is_left_out_is_not_counted_as_shortened():
    text = " ".join([*"abcdefghijkl", "m" * 201])

    assert split(text, "spaces")[1:] == (1, 0, False)


def test_a_word_of_which_nothing_could_be_seen_when_shortened_is_dropped():
    assert words_of("\u200d" * MAX_TOKEN_LENGTH + "a b", "spaces") == ["b"]


def test_two_thousand_characters_are_read_and_the_spaces_around_are_none_of_them():
    text = "a " * (MOST_TEXT // 2 - 1) + "bc"
    assert len(text) == MOST_TEXT

    exact, longer = split(f"  {text}  ", "spaces"), split(f"{text}d e", "spaces")

    assert exact == (("a",) * 12, MOST_TEXT // 2 - 12, 0, False)
    assert longer == (*exact[:3], True)


def test_a_mark_that_nobody_sees_makes_no_other_word():
    marked = "\ufeffcat c\u00adat \u200ecat\u200f \u202acat\u202c ca\u2060t \u2066cat\u2069 c\x00at"

    assert words_of(marked, "spaces") == ["cat"] * 7


def test_a_space_without_width_parts_words_and_a_joiner_stays():
    assert words_of("ខ្ញុំ\u200bស្រឡាញ់", "spaces") == ["ខ្ញុំ", "ស្រឡាញ់"]
    assert words_of("می\u200cخواهم", "spaces") == ["می\u200cخواهم"]


@every_way
@settings(deadline=None)
@given(text=texts)
@example(text="".join(PIECES))
@example(text=" ".join(PIECES))
@example(text="👨‍👩‍👧‍👦" * 400)
def test_an_experiment_takes_every_result(how, text):
    words, n_left_out, n_shortened, _ = split(text, how)

    assert len(words) <= MAX_TOKENS
    assert 0 <= n_shortened <= len(words)
    assert n_left_out == 0 or len(words) == MAX_TOKENS
    assert not any(character.isspace() for word in words for character in word)
    if words:
        assert with_words(Experiment.from_preset(), words).tokens == words


@every_way
@settings(deadline=None)
@given(text=st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=12))
def test_what_can_be_seen_is_kept_in_its_order(how, text):
    shown = "".join(c for c in text if unicodedata.category(c) != "Zs")

    assert "".join(split(text, how).words) == shown


# --- with the experiment


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (
            "Twelve considerably longer sentences nevertheless occasionally accommodate "
            "extraordinarily complicated vocabulary throughout everything",
            "spaces",
        ),
        ("我们昨天下午一起去北京大学图书馆借阅自然语言处理方面的教科书和论文集", "chinese"),
        ("👨‍👩‍👧‍👦🇨🇳" * 6, "characters"),
    ],
)
def test_a_sentence_of_twelve_words_fits_into_a_link(text, how):
    words = split(text, how).words
    assert len(words) == MAX_TOKENS
    largest = Experiment.from_preset("random", seed=MAX_SEED).resized(d_model=8, d_k=8, n_heads=8)

    code = link.encode(with_words(largest, words))

    assert len(code) < link.BUDGET / 2


@settings(deadline=None)
@given(experiments(), st.lists(known_and_new, min_size=1, max_size=MAX_TOKENS))
def test_a_link_gives_the_words_back_exactly(experiment, words):
    changed = with_words(experiment, words)

    assert to_plain(link.decode(link.encode(changed))) == to_plain(changed)


# --- the form

PAGE = """
import streamlit as st
from playground import sentence_form, session
from playground.texts import Texts

session.start()
st.selectbox("language", ["en", "zh"], key="spoken", index=None)
if st.session_state["spoken"]:
    session.speak(st.session_state["spoken"])
st.button("undo", on_click=session.undo)
if st.toggle("shown", True):
    sentence_form.form(Texts(session.language()))
"""


class Form:
    """A page with nothing on it but the form."""

    def __init__(self, locale="en-GB"):
        self.test = AppTest.from_string(PAGE, default_timeout=30)
        self.test.context.update(locale=locale, url="http://localhost:8501/")
        self.test.session_state[SECTION_KEY] = True
        self.test.run()

    def type(self, text, how=None):
        self.test.text_input(key="sentence").set_value(text)
        if how:
            self.test.button_group(key="sentence_how").set_value(how)
        return self

    def use(self):
        (button,) = [b for b in self.test.button if b.label == self.t("sentence.submit")]
        button.click().run()
        assert not self.test.exception
        return self

    def speak(self, language):
        self.test.selectbox(key="spoken").set_value(language).run()
        return self

    @property
    def t(self):
        return Texts(self.test.session_state["work"]["language"])

    @property
    def experiment(self):
        return from_plain(json.loads(self.test.session_state["work"]["text"]))

    @property
    def said(self):
        return [warning.value for warning in self.test.warning]

    @property
    def draft(self):
        return self.test.text_input(key="sentence").value


def test_a_sentence_becomes_the_tokens_with_the_vectors_of_their_words():
    form = Form().type("我 eat 苹果").use()

    assert form.experiment.tokens == ("我", "eat", "苹果")
    before = Experiment.from_preset().X
    np.testing.assert_array_equal(form.experiment.X, [before[0], embedding("eat", 0, 2), before[2]])
    assert form.said == []


def test_a_sentence_is_one_step_of_undo_and_voids_late_edits_of_the_board():
    form = Form()
    before = form.test.session_state["work"]["revision"]

    form.type("one two").use()

    assert form.test.session_state["work"]["revision"] == before + 1
    form.test.button[0].click().run()
    assert to_plain(form.experiment) == to_plain(Experiment.from_preset())


def test_typing_alone_changes_nothing():
    form = Form().type("one two", "characters")
    form.test.run()

    assert form.experiment.tokens == Experiment.from_preset().tokens


@pytest.mark.parametrize(
    ("how", "tokens"),
    [
        ("spaces", ("我喜欢", "苹果")),
        ("characters", tuple("我喜欢苹果")),
        ("chinese", ("我", "喜欢", "苹果")),
    ],
)
def test_the_chosen_way_splits(how, tokens):
    assert Form().type("我喜欢 苹果", how).use().experiment.tokens == tokens


@pytest.mark.parametrize(("locale", "how"), [("en-GB", "spaces"), ("zh-CN", "chinese")])
def test_the_first_way_is_that_of_the_language(locale, how):
    assert Form(locale).test.button_group(key="sentence_how").value == how


@every_language
def test_what_was_not_taken_is_said_once_and_the_draft_stays(language):
    form = Form().speak(language)
    t = form.t
    text = " ".join(["long" * 60, *"abcdefghijklm", "x" * MOST_TEXT])

    form.type(text, "spaces").use()

    sentences = [
        t("sentence.cut", most=2000),
        t("sentence.left_out", most=12, count=15),
        t("sentence.shortened", most=200),
    ]
    assert form.said == ["\n\n".join(map(small, sentences))]
    assert form.draft == text
    form.test.run()
    assert form.said == []
    assert form.draft == text


@every_language
@pytest.mark.parametrize("text", ["", "   ", "\u200b"])
def test_a_text_without_words_changes_nothing_and_says_so(language, text):
    form = Form().speak(language).type("one two").use()
    before = to_plain(form.experiment)

    form.type(text).use()

    assert form.said == [small(form.t("sentence.empty"))]
    assert form.test.session_state["work"]["notice"] is None  # nor is it said a second time
    assert to_plain(form.experiment) == before
    assert form.draft == text


def test_draft_and_way_survive_another_language():
    form = Form().type("one two", "characters").use().speak("zh")

    assert form.draft == "one two"
    assert form.test.button_group(key="sentence_how").value == "characters"


def test_a_form_that_comes_back_begins_anew_and_works():
    form = Form().type("one two", "characters").use()
    form.test.toggle[0].set_value(False).run()
    form.test.toggle[0].set_value(True).run()

    assert (form.draft, form.said) == ("", [])
    assert form.type("three four").use().experiment.tokens == ("three", "four")


# --- what is loaded

SCRIPT = f"""
import sys
from streamlit.testing.v1 import AppTest

def loaded(step):
    found = [name for name in ("rjieba", "regex") if name in sys.modules]
    print(step, *found)

page = AppTest.from_file("app.py", default_timeout=60).run()
page.switch_page("pages/playground.py").run()
assert not page.exception
loaded("page")
form = AppTest.from_string({PAGE!r}, default_timeout=60)
form.session_state[{SECTION_KEY!r}] = True
form.run()
for how in ("spaces", "characters", "chinese"):
    form.text_input(key="sentence").set_value(f"{{how}} 我喜欢苹果")
    form.button_group(key="sentence_how").set_value(how)
    form.button[-1].click().run()
    assert not form.exception
    loaded(how)
"""


def test_a_segmenter_is_loaded_only_when_it_is_asked_for():
    printed = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert printed.stdout.splitlines() == [
        "page",
        "spaces",
        "characters regex",
        "chinese rjieba regex",
    ]
