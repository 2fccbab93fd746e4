"""Our own Streamlit components, served as the ES modules they are written in.

A component given as text travels with every rerun; one given as files is fetched once and
cached. Streamlit finds the files of installed packages through their manifest; this app is run
from its folder, so it hands the same manifest over itself. The digest in the name makes a
browser fetch new files after an update.

Streamlit 1.67 puts a new script tag into the page at every change of the data of a component
whose script is a file, and waits for it behind all else that is to be loaded and drawn. So the
script is a text after all, of a few lines, that imports the file. It asks for all modules that
the file imports at once, since the browser would hear of each only from the one before.

The data travels as the bytes of a JSON text: of a dictionary, Streamlit asks of each value
whether it is a data frame, and loads pandas and pyarrow in order to ask.
"""

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from playground.modules import with_imports

_PACKAGE = "playground"
_ASSETS = "assets"
_registering = threading.Lock()  # two first visitors may come at once

# The address of Streamlit's own script tells where the server is, below whatever path it runs.
_LOADER = """\
const streamlit = document.querySelector('script[src*="static/js/index"]').src;
const files = {scripts}.map((script) =>
  new URL(`../../_stcore/bidi-components/{component}/${{script}}`, streamlit).href);
for (const href of files) {{
  const link = Object.assign(document.createElement("link"), {{ rel: "modulepreload", href }});
  document.head.append(link);
}}
let draw, bytes, data;
const drawn = (component) => {{
  if (bytes !== component.data) data = JSON.parse(new TextDecoder().decode(component.data));
  bytes = component.data;
  return draw({{ ...component, data }});
}};
export default (component) => {{
  if (draw) return drawn(component);
  let leave = () => {{ leave = null; }};
  import(files[0]).then((module) => {{
    draw = module.default;
    if (leave) leave = drawn(component);
  }});
  return () => leave?.();
}};
"""


class Component:
    """The component whose files are in `folder`/assets: `name`.js, and `name`.css if styled."""

    def __init__(self, name: str, folder: Path, *, html: str, is_styled: bool) -> None:
        assets = sorted((folder / _ASSETS).iterdir())
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in assets)).hexdigest()
        self._folder = folder
        self._config = ComponentConfig(f"{name}-{digest[:8]}", _ASSETS)
        self._full_name = f"{_PACKAGE}.{self._config.name}"
        self._html = html
        scripts = json.dumps(with_imports(folder / _ASSETS, f"{name}.js"))
        self._js = _LOADER.format(component=self._full_name, scripts=scripts)
        self._css = f"{name}.css" if is_styled else None

    def __call__(self, *, key: str, data: dict[str, Any], **callbacks: Any) -> None:
        """Draw the component; `on_<state>_change` is called when it sends that state."""
        manager = get_bidi_component_manager()
        with _registering:
            self._register(manager)
        draw = st.components.v2.component(
            self._full_name, html=self._html, js=self._js, css=self._css
        )
        draw(key=key, data=json.dumps(data, allow_nan=False).encode(), **callbacks)

    def _register(self, manager: BidiComponentManager) -> None:
        if manager.get_component_asset_root(self._full_name) is None:
            manifest = ComponentManifest(_PACKAGE, "1", [self._config])
            manager.register_from_manifest(manifest, self._folder)
