import math

import numpy as np
import pytest
import torch
from torch import nn

from attention_core.errors import RangeError, ShapeError
from attention_core.neural.influence import MODELS, Curve, drawn, influence, jacobian_norms
from attention_core.neural.layers import SelfAttention


class Linear(nn.Module):
    """h_t = h_{t-1} W + x_t U: its Jacobian is known without calculus."""

    def __init__(self, W, U):
        super().__init__()
        self.W, self.U = W, U

    def forward(self, x):
        h, outputs = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            h = h @ self.W + x[:, t] @ self.U
            outputs.append(h)
        return torch.stack(outputs, dim=1), None


def matrices(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


# --- the norms of the Jacobian


def test_a_linear_network_by_hand():
    # h_3 = x_1 W² U + x_2 W U + x_3 U with W = 2: norms 4, 2 and 1 times that of U, 5.
    W, U = 2 * torch.eye(2, dtype=torch.float64), torch.tensor([[3.0, 0.0], [0.0, 4.0]]).double()

    norms = jacobian_norms(Linear(W, U), matrices(3, 2))

    np.testing.assert_allclose(norms, [20, 10, 5], rtol=1e-14)


def test_a_linear_network_has_powers_of_its_matrix():
    W, U = matrices(4, 4, seed=1), matrices(4, 4, seed=2)

    norms = jacobian_norms(Linear(W, U), matrices(6, 4))

    powers = [np.linalg.matrix_power(W.numpy(), 5 - t) for t in range(6)]
    expected = [np.linalg.norm(U.numpy() @ power) for power in powers]
    np.testing.assert_allclose(norms, expected, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_the_norms_are_those_of_pytorchs_own_jacobian(model):
    models, x = drawn(3, 5, 4)

    norms = jacobian_norms(models[model], x)

    def last(x):
        return models[model](x[None])[0][0, -1]

    jacobian = torch.autograd.functional.jacobian(last, x)  # (d, T, d)
    expected = [np.linalg.norm(jacobian[:, t].numpy()) for t in range(5)]
    np.testing.assert_allclose(norms, expected, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_the_norms_are_those_of_finite_differences(model):
    models, x = drawn(4, 4, 3)
    step = 1e-5

    norms = jacobian_norms(models[model], x)

    squares = np.zeros(4)
    with torch.no_grad():
        for t in range(4):
            for feature in range(3):
                ahead, behind = x.clone(), x.clone()
                ahead[t, feature] += step
                behind[t, feature] -= step
                moved = models[model](torch.stack([ahead, behind]))[0][:, -1]
                squares[t] += float((((moved[0] - moved[1]) / (2 * step)) ** 2).sum())
    np.testing.assert_allclose(norms, np.sqrt(squares), rtol=1e-6)


def test_a_network_of_width_1_multiplies_its_derivatives_and_so_forgets():
    models, x = drawn(1, 9, 1)
    u, w, b, c = (float(weight.detach()) for weight in models["rnn"].parameters())

    norms = jacobian_norms(models["rnn"], x)

    h, slopes = 0.0, []
    for (token,) in x.tolist():
        h = math.tanh(u * token + b + w * h + c)
        slopes.append(1 - h**2)
    expected = [abs(u * w ** (8 - t)) * math.prod(slopes[t:]) for t in range(9)]
    np.testing.assert_allclose(norms, expected, rtol=1e-12)
    assert (np.diff(norms) > 0).all()


def test_one_token_alone_hands_itself_its_value():
    models, x = drawn(0, 1, 6)

    (norm,) = jacobian_norms(models["attention"], x)

    # Its weight is 1 whatever it asks, so only the values move.
    assert norm == pytest.approx(float(models["attention"].value.weight.detach().norm()))


def test_attention_does_not_mind_where_those_before_the_last_stand():
    models, x = drawn(2, 7, 4)
    order = [4, 0, 5, 2, 1, 3, 6]

    norms = jacobian_norms(models["attention"], x)
    moved = jacobian_norms(models["attention"], x[order])

    np.testing.assert_allclose(moved, norms[order], rtol=1e-12)


def test_equal_tokens_have_equal_influence_in_attention_but_not_the_one_that_asks():
    models, x = drawn(5, 6, 4)
    same = x[:1].expand(6, 4)

    *before, last = jacobian_norms(models["attention"], same)

    np.testing.assert_allclose(before, before[0], rtol=1e-12)
    # Of equal values every mix is the same, so the query moves nothing.
    value = float(models["attention"].value.weight.detach().norm())
    np.testing.assert_allclose(before[0], value / 6, rtol=1e-12)
    np.testing.assert_allclose(last, value / 6, rtol=1e-12)


def test_a_batch_is_refused():
    with pytest.raises(ShapeError, match=r"^x must have shape \(T, d\), got \(1, 2, 3\)$"):
        jacobian_norms(SelfAttention(3).double(), matrices(1, 2, 3))


def test_the_sequence_is_left_as_it_was():
    models, x = drawn(0, 3, 4)
    before = x.clone()

    jacobian_norms(models["gru"], x)

    assert torch.equal(x, before)
    assert not x.requires_grad


# --- how models are drawn


def test_the_first_model_is_the_one_that_pytorch_would_have_made():
    with torch.random.fork_rng():
        torch.manual_seed(7)
        theirs = nn.RNN(5, 5, batch_first=True, dtype=torch.float64)

    ours = drawn(7, 3, 5)[0]["rnn"]

    assert ours.state_dict().keys() == theirs.state_dict().keys()
    for name, weight in theirs.state_dict().items():
        assert torch.equal(ours.state_dict()[name], weight)


@pytest.mark.parametrize(
    ("model", "kind", "bound"),
    [
        ("rnn", nn.RNN, 1 / math.sqrt(32)),
        ("gru", nn.GRU, 1 / math.sqrt(32)),
        ("lstm", nn.LSTM, 1 / math.sqrt(32)),
        ("attention", SelfAttention, math.sqrt(6 / (32 + 32))),
    ],
)
def test_weights_fill_the_usual_range(model, kind, bound):
    layer = drawn(0, 1, 32)[0][model]

    weights = np.concatenate([w.detach().numpy().ravel() for w in layer.parameters()])
    assert type(layer) is kind
    assert 0.99 * bound < np.abs(weights).max() <= bound
    assert weights.std() == pytest.approx(bound / math.sqrt(3), rel=0.03)


def test_models_do_not_depend_on_the_length_and_differ_by_seed():
    of = [drawn(*arguments)[0]["lstm"].weight_hh_l0 for arguments in ((1, 3, 4), (1, 9, 4))]
    other = drawn(2, 3, 4)[0]["lstm"].weight_hh_l0

    assert torch.equal(*of)
    assert not torch.equal(of[0], other)


def test_nothing_is_drawn_from_the_generator_that_all_share():
    before = torch.random.get_rng_state()

    influence(3, 4, 2)

    assert torch.equal(torch.random.get_rng_state(), before)


# --- over the seeds


def test_the_mean_is_geometric_and_a_quarter_lies_below_and_above():
    norms = np.array([[1.0, 3.0], [10.0, 3.0], [100.0, 3.0], [1000.0, 3.0], [1e4, 3.0]])

    curve = Curve.of(norms)

    np.testing.assert_allclose(curve.mean, [100, 3])
    np.testing.assert_allclose(curve.lower, [10, 3])
    np.testing.assert_allclose(curve.upper, [1000, 3])
    assert curve.n_lost == 0


def test_numbers_that_underflow_are_counted_and_make_the_mean_0():
    curve = Curve.of(np.array([[0.0, 1e-320], [1.0, 1.0], [0.0, 1.0]]))

    assert curve.n_lost == 2
    assert curve.mean[0] == 0
    assert 0 < curve.mean[1] < 1


def test_a_row_so_long_that_nothing_of_its_start_is_left_gives_no_warning():
    found = influence(900, 1, 2)

    assert found.curves["rnn"].n_lost > 0
    assert found.curves["rnn"].mean[0] == 0
    assert found.curves["attention"].n_lost == 0


def test_an_influence_averages_its_seeds():
    found = influence(4, 3, 3)

    for model in MODELS:
        norms = []
        for seed in range(3):
            models, x = drawn(seed, 4, 3)
            norms.append(jacobian_norms(models[model], x))
        np.testing.assert_allclose(found.curves[model].mean, np.prod(norms, axis=0) ** (1 / 3))
    assert (found.length, found.width, found.n_seeds) == (4, 3, 3)


def test_the_same_sizes_give_the_same_numbers():
    first = influence(5, 4, 2)
    torch.rand(3)
    second = influence(5, 4, 2)

    for model in MODELS:
        np.testing.assert_array_equal(first.curves[model].mean, second.curves[model].mean)


def test_after_each_seed_it_tells_what_fewer_seeds_give():
    told = []

    influence(4, 3, 3, tell=lambda done, so_far: told.append((done, so_far)))

    assert [done for done, _ in told] == [1 / 3, 2 / 3, 1]
    assert [so_far.n_seeds for _, so_far in told] == [1, 2, 3]
    two = influence(4, 3, 2)
    for model in MODELS:
        np.testing.assert_array_equal(told[1][1].curves[model].mean, two.curves[model].mean)
        np.testing.assert_array_equal(told[1][1].curves[model].upper, two.curves[model].upper)


def test_what_tell_raises_ends_it():
    told = []

    def tell(done, so_far):
        told.append(done)
        if len(told) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        influence(3, 2, 50, tell=tell)
    assert len(told) == 2


@pytest.mark.parametrize("name", ["length", "width", "n_seeds"])
def test_a_size_of_0_is_refused(name):
    sizes = {"length": 2, "width": 2, "n_seeds": 2} | {name: 0}

    with pytest.raises(RangeError, match=f"^{name} must lie between 1 and inf, got 0$"):
        influence(**sizes)
