"""Our components are served as files, whose name changes with their content."""

import json
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest


@pytest.fixture
def folder(tmp_path):
    """The folder of a component."""
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "thing.js").write_text("export default function () {}\n")
    (assets / "part.js").write_text("export const part = 1;\n")
    (assets / "thing.css").write_text(".thing { color: red; }\n")
    return tmp_path


def drawn(folder, *, is_styled=True, data=None, app=None):
    """What the browser is told about the component in this folder."""

    def script(folder, is_styled, data):
        from pathlib import Path

        from playground.component import Component

        thing = Component("thing", Path(folder), html="<p></p>", is_styled=is_styled)
        thing(key="thing", data=data)

    if app is None:
        app = AppTest.from_function(
            script, kwargs={"folder": str(folder), "is_styled": is_styled, "data": data or {}}
        )
    app.run()
    assert not app.exception
    (element,) = app.get("bidi_component")
    return SimpleNamespace(told=element.proto, app=app)


def test_the_browser_is_told_files_and_a_few_lines_that_import_them(folder):
    told = drawn(folder).told

    assert f"_stcore/bidi-components/{told.component_name}/" in told.js_content
    assert 'const files = ["thing.js"]' in told.js_content
    assert len(told.js_content) < 1_200  # it travels with every run
    assert told.css_source_path == "thing.css"
    assert told.js_source_path == told.css_content == ""
    assert told.html_content == "<p></p>"


def test_all_that_a_script_imports_is_asked_for_with_it(folder):
    scripts = {
        "thing.js": 'import { part } from "./part.js";\nimport * as view from "./view.js";\n'
        'export default async () => (await import("./seldom.js")).f;\n',
        "part.js": '/** @typedef {import("./type.js").T} T */\n'
        'import {\n  a,\n  b,\n} from "./deep.js";',
        "view.js": 'import { part } from "./part.js";\nexport { c } from "./deep.js";',
        "deep.js": "export const a = 1, b = 2, c = 3;",
    }
    for name, text in scripts.items():
        (folder / "assets" / name).write_text(text)

    told = drawn(folder).told

    assert 'const files = ["thing.js", "part.js", "view.js", "deep.js"]' in told.js_content


def test_data_travels_as_the_bytes_of_a_json_text(folder):
    data = {"values": [[1.5, None]], "name": "猫"}

    assert json.loads(drawn(folder, data=data).told.bytes) == data


def test_a_component_without_style_names_no_css(folder):
    assert drawn(folder, is_styled=False).told.css_source_path == ""


def test_the_same_files_give_the_same_name(folder):
    assert drawn(folder).told.component_name == drawn(folder).told.component_name


@pytest.mark.parametrize("file", ["thing.js", "part.js", "thing.css"])
def test_a_changed_file_gives_a_new_name(folder, file):
    before = drawn(folder).told.component_name
    path = folder / "assets" / file
    path.write_text(path.read_text() + " ")

    after = drawn(folder).told.component_name

    assert before != after
    assert before.rpartition("-")[0] == after.rpartition("-")[0] == "playground.thing"


def test_drawing_again_in_the_same_server_needs_no_second_registration(folder):
    first = drawn(folder)

    again = drawn(folder, app=first.app)

    assert again.told.component_name == first.told.component_name
    assert again.told.js_content == first.told.js_content


def test_a_component_made_once_works_in_every_server(folder):
    # Each AppTest has a registry of its own, as a server that has just started has.
    def script():
        from playground import address_bar, session
        from playground.texts import Texts

        session.start()
        address_bar.show(Texts("en"))

    names = set()
    for _ in range(2):
        app = AppTest.from_function(script).run()
        assert not app.exception
        names |= {element.proto.component_name for element in app.get("bidi_component")}

    assert len(names) == 1
