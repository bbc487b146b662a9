"""What has to fit together in rendered manifests, beyond what the schemas of Kubernetes say."""
import re

GRACE_AFTER = 8  # Seconds after its grace in which a worker leaves by itself.
PROBES = {"startupProbe": "/startupz", "livenessProbe": "/livez", "readinessProbe": "/readyz"}


def seconds(text):
    """A duration as errand takes it: 20s, 2m."""
    number, unit = re.fullmatch(r"(\d+)(s|m|h)", text).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def pod_of(document):
    """The pod template of a workload; nil for what is none."""
    spec = document.get("spec", {})
    if document["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec.get("template") if document["kind"] in ("Deployment", "Job", "CronJob") else None


def environment(container, configs):
    """The variables of a container."""
    values = {}
    for source in container.get("envFrom", []):
        values |= configs.get(source["configMapRef"]["name"], {})
    return values | {entry["name"]: entry["value"] for entry in container.get("env", [])}


def matches(selector, labels):
    """Whether a label selector takes a pod with these labels."""
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for rule in selector.get("matchExpressions", []):
        is_in = labels.get(rule["key"]) in rule["values"]
        if is_in != {"In": True, "NotIn": False}[rule["operator"]]:
            return False
    return True


def connections(variables):
    """What a worker needs of PostgreSQL at most."""
    return 6 + int(variables.get("ERRAND_HANDLER_CONNECTIONS", 2))


class Rules:
    """Findings about the resources that one kustomization makes."""

    def __init__(self, documents, secrets, queues):
        self.documents = documents
        self.secrets = secrets
        self.queues = queues
        self.findings = []
        self.workloads = [(d, pod_of(d)) for d in documents if pod_of(d)]
        self.configs = {d["metadata"]["name"]: d["data"]
                        for d in documents if d["kind"] == "ConfigMap"}

    def kind(self, name):
        return [d for d in self.documents if d["kind"] == name]

    def need(self, is_so, document, text):
        if not is_so:
            self.findings.append(f"{document['kind']} {document['metadata']['name']}: {text}")

    def check(self):
        for document in self.documents:
            namespace = document["metadata"].get("namespace")
            self.need(document["kind"] == "Namespace" or namespace == "errand", document,
                      "is not in the namespace errand")
        for document, pod in self.workloads:
            self.check_pod(document, pod)
            self.check_security(document, pod)
        self.check_workers()
        self.check_selectors()
        self.check_scaling()
        return self.findings

    def check_pod(self, document, pod):
        spec = pod["spec"]
        accounts = {d["metadata"]["name"] for d in self.kind("ServiceAccount")}
        self.need(spec.get("serviceAccountName") in accounts, document,
                  "its service account is not made")
        volumes = {v["name"]: v["secret"]["secretName"] for v in spec.get("volumes", [])}
        for name in volumes.values():
            self.need(name in self.secrets, document, f"nothing makes the secret {name}")
        for container in spec["containers"]:
            for source in container.get("envFrom", []):
                name = source["configMapRef"]["name"]
                self.need(name in self.configs, document, f"there is no ConfigMap {name}")
            mounts = {m["mountPath"]: m["name"] for m in container.get("volumeMounts", [])}
            self.need(set(mounts.values()) == set(volumes), document,
                      "volumes and mounts differ")
            variables = environment(container, self.configs)
            for name, value in variables.items():
                if name.endswith("_FILE"):
                    folder, _, file = value.rpartition("/")
                    keys = self.secrets.get(volumes.get(mounts.get(folder)), ())
                    self.need(file in keys, document, f"{name}: no secret has {value}")
            ports = {p["name"]: p["containerPort"] for p in container.get("ports", [])}
            host, _, port = variables.get("ERRAND_LISTEN", "").rpartition(":")
            self.need(not ports or ports == {"http": int(port or 0)}, document,
                      "ERRAND_LISTEN and the port differ")
            # The kubelet asks the probes, and Prometheus the metrics, from outside the pod.
            self.need(not ports or host in ("[::]", "0.0.0.0"), document,
                      "ERRAND_LISTEN is open to the pod alone")
            if document["kind"] == "Deployment":
                self.check_probes(document, container, ports)
            self.need(container["image"].rpartition(":")[2] not in ("", "latest"), document,
                      "its image has no version")

    def check_probes(self, document, container, ports):
        for name, path in PROBES.items():
            get = container.get(name, {}).get("httpGet", {})
            self.need(get.get("path") == path and get.get("port") in ports, document,
                      f"{name} does not ask {path} of a port of its own")
        live = container.get("livenessProbe", {})
        self.need(live.get("periodSeconds", 10) * live.get("failureThreshold", 3) >= 60, document,
                  "it is killed after less than a minute of silence")

    def check_security(self, document, pod):
        """The restricted profile of Kubernetes' pod security standards, and a bit more."""
        spec = pod["spec"]
        whole = spec.get("securityContext", {})
        self.need(whole.get("runAsNonRoot") and whole.get("runAsUser") == 10001, document,
                  "does not run as the user of the image")
        self.need(whole.get("seccompProfile", {}).get("type") == "RuntimeDefault", document,
                  "has no seccomp profile")
        self.need(spec.get("automountServiceAccountToken") is False, document,
                  "gets a token of Kubernetes")
        for name in ("hostNetwork", "hostPID", "hostIPC"):
            self.need(name not in spec, document, f"has {name}")
        for container in spec["containers"]:
            own = container.get("securityContext", {})
            self.need(own.get("allowPrivilegeEscalation") is False
                      and own.get("readOnlyRootFilesystem") is True
                      and own.get("capabilities") == {"drop": ["ALL"]}
                      and "privileged" not in own, document, "its container has rights")
            resources = container.get("resources", {})
            self.need({"cpu", "memory"} <= resources.get("requests", {}).keys()
                      and "memory" in resources.get("limits", {}), document,
                      "says not what it needs")

    def check_workers(self):
        worked = {}
        for document, pod in self.workloads:
            container = pod["spec"]["containers"][0]
            variables = environment(container, self.configs)
            if container["args"][0] != "work":
                continue
            grace = seconds(variables.get("ERRAND_GRACE", "20s"))
            limit = pod["spec"].get("terminationGracePeriodSeconds", 30)
            self.need(limit >= grace + GRACE_AFTER + 5, document,
                      f"is killed after {limit} s: {grace} s of grace need more")
            names = {q.split(":")[0] for q in variables.get("ERRAND_QUEUES", "default").split(",")}
            for name in names:
                self.need(name not in worked, document, f"the queue {name} has two classes")
                worked[name] = document["metadata"]["name"]
        if worked and self.queues != set(worked):
            differing = " ".join(sorted(self.queues ^ set(worked)))
            self.findings.append(f"queues without a worker, or that do not exist: {differing}")
        self.worked = worked

    def most_connections(self):
        """Those of all workers, when the scalers and a rolling update have made the most of them."""
        most = {d["spec"]["scaleTargetRef"]["name"]: d["spec"]["maxReplicaCount"]
                for d in self.kind("ScaledObject")}
        total = 0
        for document, pod in self.workloads:
            variables = environment(pod["spec"]["containers"][0], self.configs)
            if "ERRAND_QUEUES" in variables:
                pods = most.get(document["metadata"]["name"], document["spec"].get("replicas", 1))
                total += (pods + 1) * connections(variables)
        return total

    def check_selectors(self):
        pods = [(d, pod["metadata"]["labels"]) for d, pod in self.workloads]
        for document in self.kind("Deployment"):
            self.need(matches(document["spec"]["selector"],
                              document["spec"]["template"]["metadata"]["labels"]), document,
                      "does not select its own pods")
        for document, labels in pods:
            takers = [d for d in self.kind("PodDisruptionBudget")
                      if matches(d["spec"]["selector"], labels)]
            wanted = 1 if document["kind"] == "Deployment" else 0
            self.need(len(takers) == wanted, document, f"has {len(takers)} disruption budgets")
        for document in self.kind("NetworkPolicy") + self.kind("PodDisruptionBudget") \
                + self.kind("PodMonitor"):
            spec = document["spec"]
            selector = spec.get("podSelector", spec.get("selector"))
            self.need(not pods or any(matches(selector, labels) for _, labels in pods), document,
                      "selects no pod")
        for document in self.kind("PodMonitor"):
            for place, labels in pods:
                taken = matches(document["spec"]["selector"], labels)
                self.need(taken == (place["kind"] == "Deployment"), document,
                          f"and {place['metadata']['name']} do not fit")
            self.need(all(e["port"] == "http" and e["path"] == "/metrics"
                          for e in document["spec"]["podMetricsEndpoints"]), document,
                      "asks a port that no pod has")
        if self.kind("NetworkPolicy"):
            self.need(any(d["spec"]["podSelector"] == {} and not d["spec"].get("egress")
                          and set(d["spec"]["policyTypes"]) == {"Ingress", "Egress"}
                          for d in self.kind("NetworkPolicy")),
                      self.kind("NetworkPolicy")[0], "nothing is denied by default")

    def check_scaling(self):
        authentications = {d["metadata"]["name"]: d["spec"]["secretTargetRef"]
                           for d in self.kind("TriggerAuthentication")}
        for document in self.kind("TriggerAuthentication"):
            for reference in document["spec"]["secretTargetRef"]:
                self.need(reference["key"] in self.secrets.get(reference["name"], ()), document,
                          "its secret is not made")
        targets = {d["metadata"]["name"]: d for d in self.kind("Deployment")}
        for document in self.kind("ScaledObject"):
            target = targets.get(document["spec"]["scaleTargetRef"]["name"])
            if self.workloads:
                self.need(target, document, "scales nothing that is made")
                self.need(not target or "replicas" not in target["spec"], document,
                          "and the deployment both say how many there are")
            for trigger in document["spec"]["triggers"]:
                self.need(trigger["authenticationRef"]["name"] in authentications, document,
                          "has no authentication")
                asked = set(re.findall(r"'([^']*)'", trigger["metadata"]["query"]))
                mine = {q for q, name in self.worked.items()
                        if target and name == target["metadata"]["name"]}
                self.need(not target or asked == mine, document,
                          "asks about other queues than its workers have")
