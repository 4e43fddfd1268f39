"""contrib/Dockerfile and contrib/kubernetes fit the program: its ports, paths, signals and probes; the configuration in
each manifest is run."""

import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest
import yaml

import units
from harness.servers import shared_server
from harness.semel import Gateway, STORES, assert_replay, binary

CONTRIB = units.ROOT / "contrib"
MANIFESTS = sorted((CONTRIB / "kubernetes").glob("*.yaml"))
SECRET_MODE = 0o640  # docs/configuration.md: a private file of root's may be read by its group


def dockerfile():
    """[(instruction, rest)] of each stage."""
    text = re.sub(r"^#.*\n", "", (CONTRIB / "Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    stages = []
    for line in filter(None, text.splitlines()):
        word, rest = line.split(" ", 1)
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, rest))
    return stages


BUILD, IMAGE = dockerfile()


def only(stage, word):
    [rest] = [rest for name, rest in stage if name == word]
    return rest


def test_the_image_is_built_by_the_scripts_of_the_tree():
    """Which packages building needs, scripts/setup says; which ones running needs, the Debian package."""
    assert only(BUILD, "FROM") == "debian:12-slim AS build" and only(IMAGE, "FROM") == "debian:12-slim"
    steps = [rest for word, rest in BUILD if word == "RUN"]
    assert "scripts/setup" in steps and "scripts/package --in /packages" in steps
    named = {word for word, rest in BUILD + IMAGE if word == "RUN"
             for step in re.findall(r"apt-get install ([^&]+)", rest) for word in step.split() if word[0] != "-"}
    listed = (units.ROOT / "scripts/setup").read_text()
    needed = re.findall(r"apt-get install ([\w-]+) first", (units.ROOT / "scripts/package").read_text())
    assert named == {*needed, "ca-certificates", "/packages/semel_*.deb"}
    assert not [name for name in needed if re.search(rf"\b{name}\b", listed)], "scripts/setup installs it"
    # The context has what is copied from it.
    ignored = (CONTRIB / "Dockerfile.dockerignore").read_text().split()
    assert "build" in ignored and ".git" in ignored and not {"scripts", "contrib", "examples", "docs"} & set(ignored)


def test_the_image_runs_the_installed_program_as_a_user_without_rights():
    assert json.loads(only(IMAGE, "ENTRYPOINT")) == ["/usr/bin/semel"]
    command = json.loads(only(IMAGE, "CMD"))
    [unit] = units.read_unit(units.UNITS / "semel.service")["Service"]["ExecStart"]
    assert ["/usr/bin/semel", *command] == shlex.split(unit)
    user = only(IMAGE, "USER")
    assert re.search(rf"adduser .*--uid {user.split(':')[0]} --gid {user.split(':')[1]} .*semel", str(IMAGE))
    assert only(IMAGE, "VOLUME") == "/var/lib/semel"
    assert only(IMAGE, "ENV") == f"SEMEL_LISTEN=0.0.0.0:{only(IMAGE, 'EXPOSE')}"
    # The same user in every manifest.
    for manifest in MANIFESTS:
        security = pod(manifest)["securityContext"]
        assert f"{security['runAsUser']}:{security['runAsGroup']}" == user and security["fsGroup"] == security["runAsGroup"]


def test_the_health_check_of_the_image_tells_a_gateway_that_serves(start_gateway):
    gateway = start_gateway({"path": "/*"})
    command = json.loads(only(IMAGE, "HEALTHCHECK").split(" CMD ", 1)[1])
    [port] = re.findall(r"/dev/tcp/127.0.0.1/(\d+) ", command[-1])
    assert f":-127.0.0.1:{port}" in (units.ROOT / "examples/payments.yaml").read_text()
    command[-1] = command[-1].replace(f"/{port} ", f"/{gateway.admin_address[1]} ")
    assert subprocess.run(command, timeout=20).returncode == 0
    gateway.stop()
    assert subprocess.run(command, timeout=20, capture_output=True).returncode != 0


def objects(manifest):
    found = {each["kind"]: each for each in yaml.safe_load_all(manifest.read_text())}
    assert all(each["metadata"]["name"] == "semel" for each in found.values())
    return found


def workload(manifest):
    found = objects(manifest)
    return found.get("StatefulSet") or found["Deployment"]


def pod(manifest):
    return workload(manifest)["spec"]["template"]["spec"]


def container(manifest):
    [only_one] = pod(manifest)["containers"]
    return only_one


def configuration(manifest):
    return objects(manifest)["ConfigMap"]["data"]["semel.yaml"]


def defaults(text):
    """As the pod reads it: every ${NAME:-value} is its value."""
    return yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text))


def parametrized(test):
    return pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)(test)


def test_there_is_one_for_each_kind_of_store():
    assert {path.stem: (workload(path)["kind"], defaults(configuration(path))["store"]["kind"])
            for path in MANIFESTS} == {"embedded": ("StatefulSet", "embedded"), "shared": ("Deployment", "postgres")}


@parametrized
def test_labels_and_ports_find_each_other(manifest):
    found = objects(manifest)
    labels = workload(manifest)["spec"]["template"]["metadata"]["labels"]
    selectors = [workload(manifest)["spec"]["selector"]["matchLabels"], found["Service"]["spec"]["selector"]]
    if "PodDisruptionBudget" in found:
        selectors.append(found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"])
    assert all(selector == labels for selector in selectors)
    # A budget for the only pod would hold up every drain of its machine.
    assert ("PodDisruptionBudget" in found) == (workload(manifest)["spec"]["replicas"] > 1)
    ports = {port["name"]: port["containerPort"] for port in container(manifest)["ports"]}
    config = defaults(configuration(manifest))
    assert ports == {"http": int(config["listen"].split(":")[1]), "admin": int(config["admin"]["listen"].split(":")[1])}
    assert all(port["targetPort"] in ports for port in found["Service"]["spec"]["ports"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container(manifest)[probe]["httpGet"]["port"] == "admin"


@parametrized
def test_every_path_is_on_a_volume_that_allows_what_is_done_there(manifest):
    config = defaults(configuration(manifest))
    volumes = {volume["name"]: volume for volume in pod(manifest)["volumes"]}
    claims = workload(manifest)["spec"].get("volumeClaimTemplates", [])
    volumes.update({claim["metadata"]["name"]: claim for claim in claims})
    mounts = {mount["mountPath"]: mount for mount in container(manifest)["volumeMounts"]}
    assert all(mount["name"] in volumes for mount in mounts.values())
    assert container(manifest)["securityContext"]["readOnlyRootFilesystem"]
    for each in [container(manifest), *pod(manifest).get("initContainers", [])]:
        assert each["args"][-2:] == ["--config", "/config/semel.yaml"] and each["image"] == container(manifest)["image"]
    assert volumes[mounts["/config"]["name"]]["configMap"]["name"] == objects(manifest)["ConfigMap"]["metadata"]["name"]
    # A private file: no link, so by subPath; root's, readable by the group of the pod.
    tokens = mounts[config["admin"]["tokens_file"]]
    assert tokens["subPath"] and volumes[tokens["name"]]["secret"]["defaultMode"] == SECRET_MODE
    written = config["store"].get("path", "/var/tmp")
    [volume] = [mount for path, mount in mounts.items() if pathlib.Path(written).is_relative_to(path)]
    assert not volume.get("readOnly") and ("emptyDir" in volumes[volume["name"]]) == ("path" not in config["store"])


@parametrized
def test_what_runs_is_finished_before_the_pod_is_killed(manifest):
    drain = units.seconds(defaults(configuration(manifest))["drain_timeout"])
    word, pause = container(manifest)["lifecycle"]["preStop"]["exec"]["command"]
    assert word == "sleep" and pod(manifest)["terminationGracePeriodSeconds"] >= drain + int(pause) + 5


@parametrized
def test_the_configuration_runs_and_answers_the_probes(manifest, upstream, key, tmp_path):
    tokens = tmp_path / "tokens"
    store = STORES[defaults(configuration(manifest))["store"]["kind"]](tmp_path)
    environment = {"SEMEL_LISTEN": "127.0.0.1:0", "SEMEL_ADMIN": "127.0.0.1:0", "SEMEL_TOKENS": str(tokens),
                   "SEMEL_DATA": str(tmp_path / "data"), "SEMEL_STORE_URL": store.get("url", ""),
                   "PAYMENTS_URL": upstream.url}
    file = tmp_path / "semel.yaml"
    file.write_text(configuration(manifest))
    for each in pod(manifest).get("initContainers", []):
        arguments = [str(file) if word == "/config/semel.yaml" else word for word in each["args"]]
        subprocess.run([binary(), *arguments], env={**os.environ, **environment}, check=True, capture_output=True)
    tokens.touch(mode=0o600)  # is not there for the containers before
    tokens.write_text("alice 0123456789abcdef\n")
    gateway = Gateway(config_file=file, environment=environment)
    try:
        gateway.start()
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert gateway.admin(container(manifest)[probe]["httpGet"]["path"]).status == 200
        charge = {"json": {"amount": 100}, "key": key, "headers": [("Authorization", "Bearer a")]}
        first = gateway.post("/v1/charges", **charge)
        assert_replay(gateway.post("/v1/charges", **charge), first)
        assert upstream.effects(key) == 1
    finally:
        gateway.discard()
        if "url" in store:
            shared_server.give_back(store["url"])
