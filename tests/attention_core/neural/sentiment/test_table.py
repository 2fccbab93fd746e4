"""A learner's own table: what is understood, and what is refused with the line and the reason."""

import csv
import io
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.errors import ChoiceError
from attention_core.neural.sentiment.corpus import MOST_TOKENS
from attention_core.neural.sentiment.table import (
    MOST_CHARACTERS,
    MOST_RECORDS,
    MOST_ROWS,
    WAYS,
    Table,
    TableError,
    checked,
    decoded,
    meanings_of,
    read,
    usual_way,
)


def lines(n=20, labels=("0", "1"), form="text number {i},{label}\n"):
    return "".join(form.format(i=i, label=labels[i % 2]) for i in range(n))


def refusal(call, *arguments):
    with pytest.raises(TableError) as refused:
        call(*arguments)
    error = refused.value
    return error.reason, error.line, error.value, error.count


def labels_of(*names):
    return meanings_of(read("".join(f"text,{name}\n" for name in names)))


# --- the lines


@pytest.mark.parametrize(
    "text",
    [
        "good,1\nbad,0\n",
        "good,1\r\nbad,0",
        "good;1\nbad;0\n",
        "good\t1\nbad\t0\n",
        "\ufeffgood,1\nbad,0\n",
        "text,label\ngood,1\nbad,0\n",
        "\ufeffLabel;Text\n1;good\n0;bad\n",
        "文本,标签\ngood,1\nbad,0\n",
        "标签\t文本\n1\tgood\n0\tbad\n",
        "id,label,text\n7,1,good\n8,0,bad\n",
        '"good","1"\n"bad","0"\n',
        " good , 1 \n\n,\n bad , 0 \n",
    ],
)
def test_every_usual_form_is_understood(text):
    assert [(row.text, row.label) for row in read(text)] == [("good", "1"), ("bad", "0")]


def test_quotes_hold_separators_and_lines_and_quotes():
    rows = read('"a, ""b""\nc",1\nd,0\n')

    assert rows == [(1, 'a, "b"\nc', "1"), (3, "d", "0")]


def test_a_text_may_hold_another_separator():
    for separator, other in ((";", ","), ("\t", ","), ("\t", ";"), (",", ";")):
        text = lines(form=f"one{other} two {{i}}{separator}{{label}}\n")
        assert read(text)[3] == (4, f"one{other} two 3", "1")


def test_half_a_character_is_none():
    assert read("a\ud800,1\n") == [(1, "a?", "1")]


def test_what_a_spreadsheet_writes_is_read_back():
    texts = ["a,b", 'say "x"', "two\nlines", ";", "苹果；香蕉", "'", "plain"]
    for delimiter in ",;\t":
        file = io.StringIO(newline="")
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["text", "label"])
        writer.writerows([text, index % 2] for index, text in enumerate(texts))

        assert [row.text for row in read(file.getvalue())] == texts


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("", ("few", 0, "", 0)),
        ("\n \n", ("few", 0, "", 0)),
        ("text,label\n", ("few", 0, "", 0)),
        ("a,1\nb\n", ("columns", 2, "2", 1)),
        ("a, b,1\n", ("columns", 1, "2", 3)),
        ("text,label\na,1\nb,2,3\n", ("columns", 3, "2", 3)),
        ("a,1\n ,0\n", ("text", 2, "", 0)),
        ("a,1\n\nb, \n", ("label", 3, "b", 0)),
        ('a,1\n"b,0\nc,1\n', ("quotes", 2, "", 0)),
        ('a,1\n"b" c,0\n', ("quotes", 2, "", 0)),
        ("a" * 200_000 + ",1\n", ("long", 1, "", 131_072)),
        ("a,1\n" + '"' + "a" * 200_000 + '",1\n', ("long", 2, "", 131_072)),
        ("\n" * 3_000_000, ("rows", MOST_RECORDS + 1, "", MOST_ROWS)),
        (",\n" * 1_000_000, ("rows", MOST_RECORDS + 1, "", MOST_ROWS)),
        ("a,1\n" * (MOST_ROWS + 1), ("rows", MOST_ROWS + 1, "", MOST_ROWS)),
        ("a" * (MOST_CHARACTERS + 1), ("size", 0, "", MOST_CHARACTERS + 1)),
    ],
    ids=range(16),
)
def test_what_is_wrong_is_refused_with_its_line(text, refused):
    assert refusal(read, text) == refused


def test_lines_within_a_text_are_no_rows():
    table = '"a\nb\nc\nd\ne\nf\ng",1\n' * MOST_ROWS

    assert len(read(table)) == MOST_ROWS


def test_as_many_rows_as_are_allowed_are_read():
    assert len(read("text,label\n" + "a,1\n" * MOST_ROWS)) == MOST_ROWS


# --- the labels


@pytest.mark.parametrize(
    ("names", "positive"),
    [
        ("1 0", {"1"}),
        ("pos neg", {"pos"}),
        ("Positive NEGATIVE", {"positive"}),
        ("正 负", {"正"}),
        ("正面 负面", {"正面"}),
        ("TRUE FALSE", {"true"}),
        ("１ ０", {"1"}),
        ("1 pos 0 neg", {"1", "pos"}),
        ("1 2", {"2"}),  # as in reviews with so many stars
        ("2 10", {"10"}),
        ("-1 1", {"1"}),
        ("good bad", {"good"}),
        ("happy positive", {"positive"}),
        ("unhappy positive", {"positive"}),
        ("neg else", {"else"}),
        ("nan 3", {"nan"}),
    ],
)
def test_which_label_is_positive(names, positive):
    for order in (names.split(), names.split()[::-1]):
        meanings = labels_of(*order)
        assert {name for name, label in meanings.items() if label == 1} == positive
        assert len(meanings) == len(order)


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        ("1 0 2 1", ("third", 3, "2", 3)),
        ("1 Odd 0 1", ("third", 2, "Odd", 3)),
        ("a b a C", ("third", 4, "C", 3)),
        ("1 pos True", ("single", 0, "1", 3)),
        ("A a", ("single", 0, "A", 2)),
    ],
)
def test_there_must_be_two_kinds(names, refused):
    assert refusal(labels_of, *names.split()) == refused


# --- all of it


def test_a_table_by_hand():
    text = (
        "Label;Text\n"
        + lines(form="{label};text number {i}\n", labels=("Bad", "Good"))
        + "good;Text  number 1\nGood;odd\nBad;ODD\n"
    )

    made = checked(Table(text))

    assert len(made.examples) == 20
    assert (made.n_rows, made.n_repeated, made.n_contradicting) == (23, 1, 2)
    assert made.names == (("Bad",), ("Good",))
    assert [each.label for each in made.examples] == [0, 1] * 10
    assert made.examples[1].tokens == ("text", "number", "1")


def test_a_corpus_of_a_table():
    corpus = Table(lines(100)).corpus()

    assert (len(corpus.train), len(corpus.validation)) == (75, 25)
    train, validation = (
        {each.tokens for each in part} for part in (corpus.train, corpus.validation)
    )
    assert not train & validation
    assert all(corpus.read(each.text) == each.tokens for each in corpus.validation)
    assert Table(lines(100)).corpus().train == corpus.train
    assert Table(lines(100), seed=1).corpus().train != corpus.train


def test_texts_that_begin_alike_are_one_where_no_more_is_read():
    long = "a " * MOST_TOKENS
    text = lines() + f"{long}b,1\n{long}c,1\n"

    made = checked(Table(text))

    assert len(made.examples) == 21
    assert made.n_repeated == 1
    assert max(len(each.tokens) for each in made.examples) == MOST_TOKENS


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (lines(19), ("few", 0, "9 + 10", 19)),
        (lines(10) * 2, ("few", 0, "5 + 5", 10)),
        (lines(40, labels=("1", "1")) + "a,0\n" * 9, ("few", 0, "40 + 1", 41)),
    ],
)
def test_there_must_be_enough_to_learn_from(text, refused):
    assert refusal(checked, Table(text)) == refused


def test_the_message_in_code_names_what_is_wrong():
    with pytest.raises(TableError) as refused:
        read("a,1\nb\n")

    assert str(refused.value) == "line 2: columns ('2', 1)"


def test_another_way_of_cutting_is_refused():
    with pytest.raises(ChoiceError) as refused:
        Table("", "known")

    assert str(refused.value) == "how must be one of words, characters, chinese, got 'known'"


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("text,label\n真好,1\n真的很不错啊没有话说,0", "characters"),
        ("good,1\n很,0", "words"),
        ("", "words"),
    ],
)
def test_the_usual_way_follows_the_script(text, way):
    assert usual_way(text) == way


# --- bytes


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk"])
def test_both_encodings_are_read(encoding):
    assert decoded("真好,正\n太差,负\n".encode(encoding)) == "真好,正\n太差,负\n"


@pytest.mark.parametrize("content", [b"\xff\xfea\x00,\x001\x00", b"\x80\xff"])
def test_another_encoding_is_refused(content):
    assert refusal(decoded, content) == ("encoding", 0, "", 0)


def test_bytes_have_a_limit():
    assert refusal(decoded, b"a" * (4 * MOST_CHARACTERS + 1)) == (
        *("size", 0, ""),
        4 * MOST_CHARACTERS + 1,
    )


# --- anything

signs = st.text(st.sampled_from(list('ab01,;\t"\n\r\ufeff\x00\ud800 正负\u3000é')), max_size=80)
like_a_table = st.lists(st.tuples(signs, st.sampled_from(["0", "1", "2", "", '"'])), max_size=30)


@settings(max_examples=150)
@given(signs | st.text(max_size=60) | like_a_table.map(lambda rows: "\n".join(map(",".join, rows))))
def test_any_text_is_read_or_refused(text):
    for way in WAYS:
        try:
            made = checked(Table(lines() + text, way))
        except TableError:
            continue
        assert all(each.tokens and each.label in (0, 1) for each in made.examples)
        assert len({each.tokens for each in made.examples}) == len(made.examples)
        assert len(made.examples) + made.n_repeated + made.n_contradicting == made.n_rows
        assert Counter(each.label for each in made.examples).total() >= 20


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content):
    with suppress(TableError):
        checked(Table(decoded(content)))
