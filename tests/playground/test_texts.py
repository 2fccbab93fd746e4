"""What a reader sees: all of it in both languages, none of it in the code."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path
from string import Formatter

import pytest

from attention_core import PRESETS, errors
from attention_core.experiment import MASK_KINDS
from attention_core.presets import ENCODINGS
from playground import texts
from playground.catalog import LESSONS
from playground.pipeline import STAGES, pipeline
from playground.texts import LANGUAGES, Texts, escaped, first_guess
from tests.playground.experiments import SETTINGS

ROOT = Path(__file__).parents[2]
CODE = [ROOT / "app.py", *(ROOT / "playground").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
SCRIPTS = sorted((ROOT / "playground" / "board" / "assets").glob("*.js"))
FOLDER = Path(texts.__file__).parent / "texts"

every_language = pytest.mark.parametrize("language", LANGUAGES)


@cache
def all_texts(language):
    """{key: text} of one language, read without the code that is tested."""

    def walk(branch, prefix):
        for name, value in branch.items():
            if isinstance(value, dict):
                yield from walk(value, f"{prefix}{name}.")
            else:
                yield prefix + name, value

    paths = [FOLDER / f"{language}.toml", *sorted((FOLDER / language).glob("*.toml"))]
    trees = [tomllib.loads(path.read_text(encoding="utf-8")) for path in paths]
    found = [pair for tree in trees for pair in walk(tree, "")]
    assert len(dict(found)) == len(found), "a key stands in two files"
    return dict(found)


def fields_of(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


# --- the two languages


def test_both_languages_have_the_same_keys():
    english, chinese = (set(all_texts(language)) for language in ("en", "zh"))

    assert english == chinese


def test_each_text_has_the_same_fields_in_both_languages():
    english, chinese = (all_texts(language) for language in ("en", "zh"))

    differing = {key for key in english if fields_of(english[key]) != fields_of(chinese[key])}

    assert differing == set()


@every_language
def test_no_text_is_empty(language):
    empty = [key for key, text in all_texts(language).items() if not text.strip()]

    assert empty == []


def test_every_text_but_a_few_names_is_translated():
    english, chinese = (all_texts(language) for language in ("en", "zh"))

    same = {key for key in english if english[key] == chinese[key]}

    assert same == {
        "board.softmax_exponentials",
        "preset.repeated.name",
        "quantity.d_k",
        "quantity.d_model",
        "sentiment.lstm",
        "stage.weights",
    }


def test_long_texts_exist_in_both_languages():
    english, chinese = (
        {path.name for path in (FOLDER / language).iterdir()} for language in ("en", "zh")
    )

    assert english == chinese
    assert "guide.md" in english


@pytest.mark.parametrize("name", sorted(path.stem for path in (FOLDER / "en").glob("*.md")))
def test_long_texts_have_the_same_headings_and_table_rows(name):
    def skeleton(language):
        lines = Texts(language).long(name).splitlines()
        headings = [line.split(" ")[0] for line in lines if line.startswith("#")]
        return headings, [line.count("|") for line in lines if line.startswith("|")]

    english, chinese = skeleton("en"), skeleton("zh")

    assert english == chinese
    assert english[0]


# --- the keys that the code asks for


def constant(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def template(node):
    """A text key of the code, in which {} stands for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(constant(part) or "{}" for part in node.values)
    return constant(node)


def asks(call):
    """Whether this is t(...), t.get(...), or the t of an object, such as say.t(...)."""
    return re.fullmatch(r"(\w+\.)?t(\.get)?", ast.unparse(call.func)) is not None


def asked_for(source):
    """The keys in `t(...)` and `t.get(...)`, and those kept in a name first."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and asks(node) and node.args:
            found.add(template(node.args[0]))
        if isinstance(node, ast.Assign):
            found.update(filter(is_key, map(constant, ast.walk(node.value))))
    return found - {None}


def is_key(text):
    return bool(text) and text in all_texts("en")


def control_names():
    """What the code calls its controls: `_size(t, "d_k", ...)`."""
    tree = ast.parse((ROOT / "playground" / "controls.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) > 1]
    names = {constant(c.args[1]) for c in calls if ast.unparse(c.args[0]) == "t"}
    return names - {None}


def notices():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in CODE]
    calls = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call)]
    names = {"notify", "session.notify"}
    return {constant(call.args[0]) for call in calls if ast.unparse(call.func) in names}


def error_types():
    """Every error of the core, by name."""
    types = vars(errors).values()
    found = [t for t in types if isinstance(t, type) and issubclass(t, errors.AttentionError)]
    return {t.__name__: t for t in found if t is not errors.AttentionError}


@cache
def matrix_ids():
    """What the texts of all matrices go by that some setting shows."""
    shown = chain(*SETTINGS.values())
    return {matrix.text_id for e in shown for matrix in pipeline(e, e.trace(), 0)}


def expansions():
    """For each key that code builds, everything that it can be built from."""
    matrices, controls = matrix_ids(), control_names()
    steps = {f"{lesson.id}.{step}" for lesson in LESSONS for step in lesson.steps}
    return {
        "lesson.{}.question": {lesson.id for lesson in LESSONS},
        "{}.title": steps,
        "{}.ask": steps,
        "{}.job": {
            *("masks.cost", "pytorch.fit", "why_attention.influence", "why_attention.pace"),
            *("sentiment.train", "sentiment.examine", "sentiment.warmup", "scaling.sampling"),
        },
        "{}.next": steps,
        "job.refused.{}": {"full", "own"},
        "lesson.{}.title": {lesson.id for lesson in LESSONS},
        "lesson.{}.summary": {lesson.id for lesson in LESSONS},
        "section.{}": {lesson.section for lesson in LESSONS},
        "preset.{}.name": set(PRESETS),
        "preset.{}.story": set(PRESETS),
        "control.{}": controls,
        "control.{}_help": controls,
        "control.encoding_{}": set(ENCODINGS),
        "control.mask_{}": set(MASK_KINDS),
        "notice.{}": notices(),
        "error.{}": set(error_types()),
        "stage.{}": set(STAGES),
        "matrix.{}.name": matrices,
        "matrix.{}.about": matrices,
        "quantity.{}": set(Texts("en").group("quantity")),  # optional: others show as they are
    }


@cache
def keys_in_code():
    return set(chain(*(asked_for(path.read_text(encoding="utf-8")) for path in CODE)))


@cache
def scripts():
    """The board's JavaScript, all files as one text."""
    return "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)


def said_in(source):
    """The keys in say("key") and say(`mask_${kind}`), and those kept first in a `key` or thrown."""
    places = [
        *re.findall(r"\bsay\(([^(),]*)", source),  # also a choice: say(isHeld ? "a" : "b")
        *re.findall(r"\bkey(?: =(?!=)|:)([^,;}]*)", source),
        *re.findall(r"\bKEYS = {([^}]*)}", source),
        *re.findall(r"\bnew Refusal\(([^),]*)", source),
    ]
    keys = {key for place in places for key in re.findall(r'"(\w+)"', place)}
    built = {key for place in places for key in re.findall(r"`([^`]+)`", place)}
    keys |= {re.sub(r"\$\{\w+\}", "{}", key) for key in built}
    return keys | set(re.findall(r"\btexts\.(\w+)", source))


def said_expansions():
    """For each key that JavaScript builds, everything that it can be built from."""
    source = scripts()
    problems = r'problem: "(\w+)"', r'refuse\(\w+, "(\w+)"'
    menus = re.findall(r"kinds = \[([^\]]*)\];[^;]*say\(`(\w+)_\$", source)
    (steps,) = re.findall(r"\[([^\]]*)\]\.map\(\(step\) => say\(`softmax_", source)
    (buttons,) = re.findall(r"BUTTONS = \[([^\]]*)\]", source)
    of_weights = re.findall(r'\bW_\w: "(\w+)"', source)
    (held,) = re.findall(r"const key = isHeld \?([^;]*);", source)
    return {
        **{f"{key}_{{}}": set(re.findall(r'"(\w+)"', kinds)) for kinds, key in menus},
        "mask_{}": set(MASK_KINDS),
        "refused_{}": {name for form in problems for name in re.findall(form, source)},
        "softmax_{}": set(re.findall(r'"(\w+)"', steps)),
        "{}_help": set(re.findall(r'"(\w+)"', held)),
        "play_{}": set(re.findall(r'"(\w+)"', buttons)),
        "play_{}_help": set(re.findall(r'"(\w+)"', buttons)),
        "{}_zero": set(of_weights),
    }


def worded():
    """One text for each kind of matrix: wording("cell", matrix)."""
    source = scripts()
    forms = re.findall(r"`(\w*\$\{key\}\w*)`", source.partition("function wording")[2][:400])
    keys = re.findall(r'\bwording\("(\w+)"', source)
    return {form.replace("${key}", key) for form in ["${key}", *forms] for key in keys}


@cache
def keys_in_scripts():
    """What the board's JavaScript says."""
    plain = {key for key in said_in(scripts()) if "{}" not in key}
    built = {key.format(name) for key, names in said_expansions().items() for name in names}
    return plain | built | worded()


def keys_told():
    """What the hand-out says beside the board."""
    return {f"handout.{key}" for key in re.findall(r'\btell\("(\w+)"', scripts())} | {
        f"handout.{key}" for key in re.findall(r'"(about_\w+)"', scripts())
    }


def test_the_reader_finds_every_form_of_key():
    source = (
        't("a.b")\nt(f"a.{x}.c", n=1)\nt.get(f"d.{x}", "e")\n'
        'title = "figure.output" if x else "figure.title"\nt(title)\nother("f.g")\n'
        'say.t("h.i", n=1)\nself.t("j.k")\nsplit("l.m")\n'
    )

    of_names = {"figure.output", "figure.title"}
    assert asked_for(source) == {"a.b", "a.{}.c", "d.{}", "h.i", "j.k", *of_names}


def test_the_reader_finds_every_form_of_key_in_scripts():
    source = (
        'say("a")\nthis.say("b", { name })\nsay(x ? "c" : "d", { count })\nsay(`e_${kind}`)\n'
        'const key = x ? "f" : KEYS[y];\nreturn { key: "g", fields };\nthrow new Refusal("h");\n'
        'const KEYS = {\n  one: "i",\n  two: "j",\n};\ndata.texts.k\n'
        'other("l", event.key === "l")\nnew Refusal("m", { text })\nsay(key)\nsay(`${key}_n`)\n'
    )

    assert said_in(source) == {*"abcdfghijkm", "e_{}", "{}_n"}


def test_every_key_that_a_script_builds_is_known_here():
    built = {key for key in said_in(scripts()) if "{}" in key}

    assert built == set(said_expansions())
    assert all(said_expansions().values())
    assert {"cell", "cell_between", "cell_of_row", "softmax_cell"} <= worded()


def test_every_key_that_code_builds_is_known_here():
    built = {key for key in keys_in_code() if "{}" in key}

    assert built == set(expansions())


@every_language
def test_every_text_that_the_code_asks_for_exists(language):
    built = {key.format(name) for key, names in expansions().items() for name in names}
    plain = {key for key in keys_in_code() if "{}" not in key}

    assert (built | plain) - set(all_texts(language)) == set()
    assert len(plain) > 20


@every_language
def test_every_text_that_the_board_says_exists(language):
    said = keys_in_scripts()

    assert said - set(Texts(language).group("board")) == set()
    assert len(said) > 20


@every_language
def test_every_text_that_a_hand_out_says_exists(language):
    assert keys_told() - {f"handout.{key}" for key in Texts(language).group("handout")} == set()
    assert len(keys_told()) > 10


def test_no_text_is_left_over():
    built = {key.format(name) for key, names in expansions().items() for name in names}
    features = {f"feature.{name}" for name in Texts("en").group("feature")}
    said = {f"board.{name}" for name in keys_in_scripts()}

    spoken = built | features | said | keys_told()
    assert set(all_texts("en")) - keys_in_code() - spoken == set()


def test_every_feature_of_a_preset_has_a_name():
    features = set(chain(*(preset.feature_names for preset in PRESETS.values())))

    assert set(Texts("en").group("feature")) == features


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_field_of_a_text_is_filled_in_where_it_is_used(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        is_text = call.args and asks(call) and not ast.unparse(call.func).endswith(".get")
        key = constant(call.args[0]) if is_text else None
        if key is not None:
            given = {keyword.arg for keyword in call.keywords}

            assert fields_of(all_texts("en")[key]) == given, key


EXAMPLES = [
    errors.ShapeError("X", (3, "d_k"), (2, 2)),
    errors.DtypeError("X", "real numbers", "object"),
    errors.NotFiniteError("X", (0, 1)),
    errors.EmptyRowError([(0,)]),
    errors.ForbiddenError([(0, 1)]),
    errors.RangeError("seed", -1, 0, 9),
    errors.ChoiceError("preset", "pear", ["apple"]),
    errors.DivisibilityError("n_heads", 3, "n_kv_heads", 2),
    errors.WidthError(3, 2, 4),
    errors.TokenError(0, "is empty"),
    errors.FieldError("X.0", "must be a number"),
    errors.FileKindError("pickle"),
]


def test_there_is_an_example_of_every_error():
    assert {type(error).__name__ for error in EXAMPLES} == set(error_types())


@every_language
@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_a_text_for_an_error_needs_only_fields_that_the_error_has(language, error):
    text = all_texts(language)[f"error.{type(error).__name__}"]

    assert fields_of(text) <= set(vars(error))


# --- no sentence in the code

TECHNICAL = {  # arguments of st.* that no reader sees
    "args",
    "gap",
    "height",
    "horizontal_alignment",
    "icon",
    "file_name",
    "key",
    "kwargs",
    "label_visibility",
    "layout",
    "mime",
    "on_change",
    "on_click",
    "position",
    "selection_mode",
    "type",
    "vertical_alignment",
    "width",
}
NO_SCREEN = ("st.session_state", "st.query_params", "st.context", "st.components")


def literals(source):
    """Every text with letters in it that is given to a call of st.*, other than through t."""
    found = []
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        called = ast.unparse(call.func)
        if called.startswith("st.") and not called.startswith(NO_SCREEN):
            shown = [k.value for k in call.keywords if k.arg not in TECHNICAL]
            for argument in [*call.args, *shown]:
                found += _texts_in(argument)
    return found


def _texts_in(node):
    if isinstance(node, ast.Call):
        if ast.unparse(node.func) in ("t", "t.get", "t.long", "t.group"):
            return []
        if ast.unparse(node.func).startswith("st."):  # visited by itself
            return []
    if constant(node) is not None:
        return [node.value] if any(map(str.isalpha, node.value)) else []
    return [text for child in ast.iter_child_nodes(node) for text in _texts_in(child)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('st.title("Hello")', ["Hello"]),
        ('st.sidebar.button(label="Press")', ["Press"]),
        ('st.caption(f"{n} heads")', [" heads"]),
        ('st.table({"Name": [x]})', ["Name"]),
        ('with st.container():\n    st.error("No" + x)', ["No"]),
        ('st.selectbox(t("a.b"), options, format_func=lambda x: f"Head {x}")', ["Head "]),
        ('st.button(t("a.b"), key="undo", icon=":material/undo:", help="Back")', ["Back"]),
        ('st.title(t("a.b"))\nst.table({t(f"a.{x}"): [" × ".join(y)]})', []),
        ('st.session_state.get("work")\nst.query_params.get("e")', []),
    ],
)
def test_the_finder_sees_what_a_reader_would_read(source, found):
    assert literals(source) == found


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_sentence_stands_in_the_code(path):
    assert literals(path.read_text(encoding="utf-8")) == []


def has_chinese(text):
    return re.search(r"[\u2e80-\u9fff\uf900-\ufaff]", text) is not None


def test_chinese_stands_only_in_presets_and_language_names():
    core = (ROOT / "attention_core").rglob("*.py")

    chinese = [
        str(path.relative_to(ROOT))
        for path in [*CODE, *core]
        if has_chinese(path.read_text(encoding="utf-8"))
    ]

    assert sorted(chinese) == [
        "attention_core/neural/sentiment/grammar.py",
        "attention_core/neural/sentiment/mistakes.py",
        "attention_core/neural/sentiment/reviews.py",
        "attention_core/neural/sentiment/table.py",
        "attention_core/presets.py",
        "playground/texts.py",
    ]


# --- the class


def test_fields_are_filled_in():
    assert Texts("en")("control.head_number", number=2) == "Head 2"
    assert Texts("zh")("control.head_number", number=2) == "头 2"


def test_an_unknown_key_is_our_fault_and_crashes():
    with pytest.raises(KeyError, match=r"no\.such\.key"):
        Texts("en")("no.such.key")


def test_a_group_is_everything_below_a_prefix_without_the_prefix():
    stages = Texts("en").group("stage")

    assert set(stages) == set(STAGES)
    assert stages["weights"] == "Softmax"


def test_a_text_that_may_be_missing_has_a_default():
    assert Texts("en").get("quantity.seed", "X") == "the seed"
    assert Texts("en").get("quantity.X", "X") == "X"


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("zh-Hans-CN", "zh"),
        ("ZH_tw", "zh"),
        ("en-US", "en"),
        ("de-DE", "en"),
        ("", "en"),
        (None, "en"),
    ],
)
def test_the_first_guess_is_chinese_only_for_chinese_browsers(locale, language):
    assert first_guess(locale) == language


# --- a learner's text inside Markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("plain 苹果 é", "plain 苹果 é"),
        ("*b* _i_", r"\*b\* \_i\_"),
        ("$a$", r"\$a\$"),
        (":red[x]", r"\:red\[x\]"),
        ("<b>x</b>", r"\<b\>x</b\>".replace("</", r"\</")),
        ("[a](http://b)", r"\[a\]\(http\://b\)"),
        ("`c` ~d~ # | !", r"\`c\` \~d\~ \# \| \!"),
        ("1. 2- 3+", r"1\. 2\- 3\+"),
        ("\\*", r"\\\*"),
    ],
)
def test_escaped_puts_a_backslash_before_every_sign_of_markdown(text, markdown):
    assert escaped(text) == markdown


def test_no_sign_of_markdown_stays_bare_and_nothing_else_changes():
    every_sign = "".join(map(chr, range(32, 127)))

    markdown = escaped(every_sign)

    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", markdown)  # CommonMark 2.4: these can be escaped
    assert re.sub(r"\\(.)", r"\1", markdown) == every_sign
    assert not set(bare) & set("\\`*_{}[]()<>#+-.!|~$:")
    assert Counter(bare) == Counter(set(bare))
