"""What the step on cost shows and says, against numbers that are reckoned here."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from attention_core import masks
from attention_core.measurement import LeftOut, Measured, Measurement
from playground.lessons import cost
from playground.palette import CATEGORICAL
from playground.texts import LANGUAGES, Texts

SIZES = cost.sizes(8)

every_language = pytest.mark.parametrize("language", LANGUAGES)


def run(way, n_tokens, seconds, n_bytes=2_500_000):
    return Measurement(way, n_tokens, seconds, n_bytes)


MEASURED = Measured(
    measurements=(
        run("dense", 256, 0.002),
        run("blockwise", 256, 0.003),
        run("window", 256, 0.001),
        run("dense", 512, 0.009),
        run("blockwise", 512, 1.5, 524_288),
        run("window", 512, 0.002),
    ),
    left_out=(),
    gaps=((256, 1e-16), (512, 4.44e-16)),
)


def figure(view, *, reach=8, n_tokens=512, measured=None, d_k=16, language="en"):
    t = Texts(language)
    drawn = cost.figure(t, view, cost.sizes(reach), d_k, n_tokens, measured, "light")
    json.dumps(drawn, allow_nan=False)
    go.Figure(drawn)  # refuses what Plotly does not know
    return drawn


def curve(drawn, name, *, mode="lines"):
    (trace,) = [each for each in drawn["data"] if each["name"] == name and each["mode"] == mode]
    return dict(zip(trace["x"], trace["y"], strict=True))


# --- the figure


def test_the_curves_are_as_high_as_the_masks_allow_pairs():
    pairs = figure("pairs", n_tokens=512)

    assert curve(pairs, "Dense")[512] == 512 * 512
    assert curve(pairs, "Dense, blockwise")[512] == 512 * 512
    assert curve(pairs, "Causal")[512] == masks.causal(512).sum()
    assert curve(pairs, "Window, 8 on each side")[512] == masks.window(512, 8, 8).sum()
    assert curve(pairs, "Dense")[100_000] == 10**10
    assert min(curve(pairs, "Dense")) == 256


def test_a_pair_costs_twice_d_k_multiply_adds_and_8_bytes():
    pairs, multiply_adds, memory = map(figure, ("pairs", "multiply_adds", "memory"))

    for name in ("Dense", "Causal", "Window, 8 on each side", "Global, window and random"):
        for n, count in curve(pairs, name).items():
            assert curve(multiply_adds, name)[n] == 2 * 16 * count
            assert curve(memory, name)[n] == pytest.approx(8 * count / 1e6)
    assert set(curve(memory, "Dense, blockwise").values()) == {256 * 256 * 8 / 1e6}
    rounds = 4
    for n, count in curve(pairs, "Hash buckets").items():
        assert curve(memory, "Hash buckets")[n] == pytest.approx(8 * count / rounds / 1e6)


def test_both_axes_are_logarithmic_and_the_chosen_number_is_marked():
    drawn = figure("pairs", n_tokens=2048)

    layout = drawn["layout"]
    assert layout["xaxis"]["type"] == layout["yaxis"]["type"] == "log"
    assert [shape["x0"] for shape in layout["shapes"]] == [2048]
    assert 10 ** layout["xaxis"]["range"][0] < 256
    assert 10 ** layout["xaxis"]["range"][1] > 100_000
    assert layout["xaxis"]["ticktext"][-1] == "100,000"


def test_times_are_drawn_as_they_were_measured():
    drawn = figure("time", measured=MEASURED)

    for mode in ("lines", "markers"):
        assert curve(drawn, "Dense", mode=mode) == {256: 2.0, 512: 9.0}
        assert curve(drawn, "Dense, blockwise", mode=mode) == {256: 3.0, 512: 1500.0}
        assert curve(drawn, "Window, 8 on each side", mode=mode) == {256: 1.0, 512: 2.0}
    assert drawn["layout"]["yaxis"]["title"]["text"] == "Milliseconds, measured here"
    assert figure("time", n_tokens=100_000, measured=MEASURED)["layout"]["shapes"] == []


def test_memory_has_points_where_it_was_measured():
    plain, drawn = figure("memory"), figure("memory", measured=MEASURED)

    assert curve(drawn, "Dense", mode="markers") == {256: 2.5, 512: 2.5}
    assert curve(drawn, "Dense, blockwise", mode="markers")[512] == 0.524288
    assert curve(drawn, "Dense") == curve(plain, "Dense")
    titles = [each["layout"]["yaxis"]["title"]["text"] for each in (plain, drawn)]
    assert titles == ["MB of scores held at once", "MB, points measured here"]


def test_a_pattern_has_one_colour_in_all_views_and_one_entry_in_the_legend():
    drawn = figure("memory", measured=MEASURED)

    colours = {}
    for trace in drawn["data"]:
        colours.setdefault(trace["name"], set()).add(trace["line"]["color"])
    assert [*colours.values()] == [{colour} for colour in CATEGORICAL["light"][:6]]
    assert sum(trace["showlegend"] for trace in drawn["data"]) == 6
    times = {
        trace["name"]: trace["line"]["color"] for trace in figure("time", measured=MEASURED)["data"]
    }
    assert all({colour} == colours[name] for name, colour in times.items())


@every_language
@pytest.mark.parametrize("reach", [min(cost.REACHES), max(cost.REACHES)])
@pytest.mark.parametrize("n_tokens", [min(cost.N_TOKENS), max(cost.N_TOKENS)])
def test_every_view_can_be_drawn_at_the_limits(language, reach, n_tokens):
    for view in cost.view_names(Texts(language)):
        drawn = figure(view, reach=reach, n_tokens=n_tokens, measured=MEASURED, language=language)
        assert all(value > 0 for trace in drawn["data"] for value in trace["y"])


def test_what_is_measured_ends_at_the_chosen_number_and_at_the_limit():
    assert cost.counts(256) == [256]
    assert cost.counts(4096) == [256, 512, 1024, 2048, 4096]
    assert cost.counts(16_384) == cost.counts(100_000) == [2**k for k in range(8, 15)]


# --- the table


@pytest.fixture
def measured(monkeypatch):
    """The arguments of each measurement, which itself is replaced."""
    calls = []

    def measure(counts, sizes, **more):
        calls.append((counts, sizes.before, sizes.after, more))
        more["tell"](0.5, "dense", counts[-1])
        return Measured((), (), ((counts[-1], float(len(calls))),))

    monkeypatch.setattr(cost, "measure", measure)
    return calls


def test_the_job_measures_what_was_asked_for_and_tells_what_it_runs(measured):
    told = []

    result = cost.work(8, 16, 512, 3)(lambda done, shown: told.append((done, shown)))

    ((counts, before, after, more),) = measured
    assert (counts, before, after, more["d_k"]) == ([256, 512], 8, 8, 16)
    assert more["most_bytes"] == 200_000_000
    assert more["most_seconds"] <= 10
    assert more["rng"].normal() == np.random.default_rng(3).normal()
    assert told == [(0.5, ("dense", 512))]
    assert result.gaps == ((512, 1.0),)


def test_what_lies_beyond_the_limit_is_the_same_measurement():
    assert cost.measured_settings(8, 16, 100_000, 0) == cost.measured_settings(8, 16, 16_384, 0)
    assert cost.measured_settings(8, 16, 512, 0) == (8, 16, 512, 0)


@every_language
def test_the_table_counts_what_the_masks_allow(language):
    t = Texts(language)

    columns = [*cost.table(t, SIZES, 16, 512).values()]

    near = int(masks.window(512, 8, 8).sum())
    rows = [*zip(*columns, strict=True)]
    assert rows[0][1:] == ("262,144", "100", "8.39\u00a0×\u00a010⁶", "2.1")
    assert rows[1][1:] == ("262,144", "100", "8.39\u00a0×\u00a010⁶", "0.524")
    assert rows[3][1] == f"{near:,}" == "8,632"
    assert rows[3][2:] == ("3.29", "2.76\u00a0×\u00a010⁵", "0.0691")
    assert float(rows[3][2]) == pytest.approx(100 * near / 512**2, abs=0.005)
    assert len(rows) == len({row[0] for row in rows}) == 6
    if language == "en":
        assert rows[3][0] == "Window, 8 on each side"


def test_the_assumptions_are_those_of_the_numbers():
    told = cost.assumed(Texts("en"), SIZES)

    assert "16 tokens see all" in told
    assert "16 more at random" in told
    assert "4 rounds with equal buckets of at most 64 tokens" in told
    assert "256 × 256 scores" in told


# --- what was found


def said(language="en", n_tokens=512, measured=None, reach=8):
    return cost.found(Texts(language), cost.sizes(reach), 16, n_tokens, measured)


def test_on_paper_alone():
    assert said() == [
        "For 512 tokens dense attention needs 262,144 pairs and the window 8,632, which is 3.29 % "
        "of them.",
        "Held at once, their scores take 2.1 MB dense, 0.524 MB blockwise and 0.0691 MB in the "
        "window.",
    ]
    assert said("zh") == [
        "512 个词元时，稠密注意力需要 262,144 个词元对，窗口需要 8,632 个，占前者的 3.29%。",
        "同时存放的分数，稠密时占 2.1 MB，分块时占 0.524 MB，窗口占 0.0691 MB。",
    ]


def test_a_window_that_sees_all_is_said_to_need_all():
    (first, _) = said(n_tokens=256, reach=512)

    assert "65,536 pairs and the window 65,536, which is 100 % of them" in first


def test_what_was_measured():
    assert said(measured=MEASURED)[2:] == [
        "Dense attention: 9\u00a0ms for 512 tokens, 4.5 times as long as for 256, "
        "holding at most 2.5 MB.",
        "Blockwise attention: 1.5\u00a0s for 512 tokens, 500 times as long as for 256, "
        "holding at most 0.524 MB.",
        "Windowed attention: 2\u00a0ms for 512 tokens, 2 times as long as for 256, "
        "holding at most 2.5 MB.",
        "The outputs of blockwise and dense attention differ by at most "
        "4.44\u00a0×\u00a010⁻¹⁶, for 512 tokens.",
    ]
    assert said("zh", measured=MEASURED)[2:] == [
        "稠密注意力处理 512 个词元用了 9\u00a0ms，是 256 个词元时的 4.5 倍，最多占用 2.5 MB。",
        "分块注意力处理 512 个词元用了 1.5\u00a0s，是 256 个词元时的 500 倍，最多占用 0.524 MB。",
        "窗口注意力处理 512 个词元用了 2\u00a0ms，是 256 个词元时的 2 倍，最多占用 2.5 MB。",
        "512 个词元时，分块与稠密注意力的输出最多相差 4.44\u00a0×\u00a010⁻¹⁶。",
    ]


def test_a_single_measurement_is_compared_with_none():
    measured = Measured((run("window", 256, 0.0042),), (), ())

    assert said(measured=measured)[2:] == [
        "Windowed attention: 4.2\u00a0ms for 256 tokens, holding at most 2.5 MB."
    ]
    assert said("zh", measured=measured)[2:] == [
        "窗口注意力处理 256 个词元用了 4.2\u00a0ms，最多占用 2.5 MB。"
    ]


def test_a_time_of_0_is_not_divided_by():
    measured = Measured((run("window", 256, 0.0), run("window", 512, 0.0)), (), ())

    assert said(measured=measured)[2] == (
        "Windowed attention: 0\u00a0ms for 512 tokens, holding at most 2.5 MB."
    )


def test_what_was_left_out_and_why():
    left_out = (
        LeftOut("dense", 8192, "memory"),
        LeftOut("dense", 16_384, "memory"),
        LeftOut("blockwise", 16_384, "time"),
    )
    measured = Measured((), left_out, ())

    assert said(measured=measured, n_tokens=100_000)[2:] == [
        "Dense attention was not run from 8,192 tokens on: its scores alone would take 537 MB "
        "there, and the limit here is 200 MB.",
        "Blockwise attention was not run from 16,384 tokens on, as there was not enough left of "
        "the 5 s that each way may take here.",
        "Beyond 16,384 tokens nothing is run here, and the numbers are on paper alone.",
    ]
    assert said("zh", measured=measured, n_tokens=32_768)[2:] == [
        "稠密注意力从 8,192 个词元起没有运行：光是分数就要占 537 MB，而这里的上限是 200 MB。",
        "分块注意力从 16,384 个词元起没有运行：这里每种算法最多用 5 秒，剩下的时间不够了。",
        "超过 16,384 个词元时这里不再运行，只有理论值。",
    ]


@every_language
def test_what_is_measured_just_now(language):
    t = Texts(language)

    told = [cost.doing(t, way, 16_384) for way in ("dense", "blockwise", "window")]

    assert len({*told}) == 3
    assert all("16,384" in each for each in told)


# --- how numbers are written


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.00012345, "0.000123"), (3.14159, "3.14"), (99.96, "100"), (80_000.4, "80,000")],
)
def test_three_digits_count(value, text):
    assert cost.short(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1, "1.00 × 10⁰"), (1.28e12, "1.28 × 10¹²"), (9.999e-17, "1.00 × 10⁻¹⁶")],
)
def test_a_power_of_ten_is_written_as_one(value, text):
    assert cost.power(value).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00042, "0.42 ms"), (0.25, "250 ms"), (0.9999, "1,000 ms"), (1, "1 s"), (12.34, "12.3 s")],
)
def test_a_duration_has_its_unit(seconds, text):
    assert cost.duration(seconds).replace("\u00a0", " ") == text


def test_the_scale_of_the_figure_begins_left_of_the_first_point():
    assert np.log10(256 / 1.15) == pytest.approx(figure("time")["layout"]["xaxis"]["range"][0])
