"""What a public host sets is known to Streamlit, in force, and the same wherever it stands."""

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
