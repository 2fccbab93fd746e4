"""What a public host sets is known to Streamlit, in force, and the same wherever it stands."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

from tests.browser.proxy import settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

# What must be so, as Streamlit reads it.
IN_FORCE = {
    "server.headless": True,
    "server.address": "0.0.0.0",
    "server.port": 8501,
    "client.showErrorDetails": "none",
    "client.toolbarMode": "viewer",
    "browser.gatherUsageStats": False,
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.maxUploadSize": 1,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.enableWebsocketCompression": False,
}


def test_streamlit_knows_every_setting_and_follows_it():
    asked = subprocess.run(
        [sys.executable, "-m", "streamlit", "config", "show"],
        env={**os.environ, **settings()},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    shown = tomllib.loads(asked.stdout[asked.stdout.index("\n[") :])
    in_force = {name: shown[name.split(".")[0]].get(name.split(".")[1]) for name in IN_FORCE}

    assert in_force == IN_FORCE
    variables = {
        "STREAMLIT_" + re.sub("(?<=[a-z])(?=[A-Z])", "_", name).replace(".", "_").upper()
        for name in IN_FORCE
    }
    assert {name for name in settings() if name.startswith("STREAMLIT_")} == variables


def test_kubernetes_has_the_same_settings():
    assert kubernetes()["ConfigMap"]["data"] == settings()


def kubernetes():
    documents = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    return {document["kind"]: document for document in documents}


def test_every_part_on_kubernetes_means_the_same_app():
    parts = kubernetes()
    name = "attention-playground"
    template = parts["Deployment"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    security = container["securityContext"]

    assert template["metadata"]["labels"] == {"app": name}
    assert parts["Service"]["spec"]["selector"] == {"app": name}
    assert parts["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == {"app": name}
    assert parts["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == name
    assert "replicas" not in parts["Deployment"]["spec"]
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert {"cpu", "memory"} == set(container["resources"]["limits"])
    annotations = parts["Ingress"]["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/affinity"] == "cookie"
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert "== b'ok'" in container[probe]["exec"]["command"][-1]


def test_compose_starts_two_replicas_that_only_the_proxy_reaches():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]

    assert set(services) == {"one", "two", "proxy"}
    for name in ("one", "two"):
        assert "ports" not in services[name]
        assert services[name]["networks"] == ["inside"]
        assert services[name]["read_only"] is True
        assert services["proxy"]["environment"][f"REPLICA_{1 + (name == 'two')}"] == f"{name}:8501"
    assert compose["networks"]["inside"] == {"internal": True}
    assert services["proxy"]["image"].count(".") == 2  # pinned


def test_the_image_holds_only_what_runs_and_nobody_in_it_is_root():
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    copied = {
        line.split()[1] for line in lines if line.startswith("COPY ") and "--from" not in line
    }

    assert copied == {
        "app.py",
        "requirements.txt",
        ".streamlit",
        "attention_core",
        "playground",
        "pages",
        "deploy/settings.env",
    }
    assert all((ROOT / name).exists() for name in copied)
    assert ignored[1] == "*"
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
    assert "USER 1000" in lines
    assert lines.index("USER 1000") < next(i for i, s in enumerate(lines) if s.startswith("CMD"))
    (check,) = (line for line in lines if "/_stcore/health" in line)
    assert "== b'ok'" in check


def started(**outside):
    """What the container's command hands to Streamlit, in an environment of its own."""
    (line,) = [s for s in (DEPLOY / "Dockerfile").read_text().splitlines() if s.startswith("CMD")]
    *shell, script = json.loads(line.removeprefix("CMD "))
    script = script.replace("/app/", "").replace("exec python -m streamlit run app.py", "env -0")
    return subprocess.run(
        [*shell, script],
        env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **outside},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_container_has_these_settings_and_what_is_set_outside_goes_first():
    outside = {"ATTENTION_MAX_SESSIONS": "7", "OTHER": 'it\'s "$HOME"; '}

    done = started(**outside)

    handed = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
    assert done.returncode == 0, done.stderr
    assert (settings() | outside).items() <= handed.items()


def test_a_container_with_a_limit_that_is_none_ends_at_once_and_says_why():
    done = started(ATTENTION_MAX_SESSIONS="many")

    assert done.returncode == 1
    assert "ATTENTION_MAX_SESSIONS must be a whole number" in done.stderr
    assert "Traceback" not in done.stderr
