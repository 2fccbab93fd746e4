"""The step on the code, as a learner goes through it."""

import contextlib
import io

import torch
from playwright.sync_api import Page, expect

from attention_core import Experiment
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import Playground

TWO = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)


def test_a_learner_reads_a_layer_and_takes_the_script_along(page: Page, server: Server):
    playground = Playground(page, server.url)
    playground.open(f"/pytorch?lang=en&s=code&e={link.encode(TWO)}")
    expect(page.get_by_text("class SelfAttention(nn.Module)")).to_be_visible()
    expect(page.get_by_text("here it holds head 1 of 2")).to_be_visible()

    playground.click("MultiHeadAttention")
    row = page.get_by_role("row").filter(has_text="in_proj.weight")
    expect(row).to_contain_text("12 × 4")
    expect(page.get_by_text("has 64 parameters")).to_be_visible()

    # Copy the script and run it: it computes this experiment, and its own assertion holds.
    with playground.one_run():
        page.get_by_text("Your experiment as a PyTorch script").click()
    script = page.get_by_test_id("stCode").last
    expect(script).to_contain_text("import torch")
    script.hover()
    script.get_by_role("button").click()
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(playground.copied(), names)
    expected = torch.tensor(TWO.trace().attention.output, dtype=torch.float32)
    torch.testing.assert_close(names["output"], expected, rtol=0, atol=1e-5)
