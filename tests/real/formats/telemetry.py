"""Runs pipelines with telemetry on and reads what they send with the official protocol package (opentelemetry-proto), as a collector does.

    .real/formats/bin/python tests/real/formats/telemetry.py target/debug/flow

Checked: one tree for each run, without gaps; names and attributes that the conventions require; no content unless it is asked for; trace ids
equal to those of the audit; the caller's trace; metrics.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REPO = Path(__file__).resolve().parents[3]
FLOW = Path(sys.argv[1]).resolve()
spans, metrics, resources, bodies = [], [], [], []


def plain(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None


def attributes(of):
    return {one.key: plain(one.value) for one in of}


class Collector(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        bodies.append(body)
        assert self.headers["content-type"] == "application/x-protobuf", self.headers
        assert self.headers["x-key"] == "canary-header-1", "the headers of the variable are sent"
        if self.path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                resources.append(attributes(resource.resource.attributes))
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
        elif self.path == "/v1/metrics":
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    metrics.extend(scope.metrics)
        else:
            raise AssertionError(self.path)
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
ENDPOINT = f"http://127.0.0.1:{server.server_port}"


def run(folder, *arguments, **variables):
    """Runs flow in a project; the spans and metrics that came of it."""
    [one.clear() for one in (spans, metrics, resources, bodies)]
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env = known | {"FLOW_CONFIG": "", "OTEL_EXPORTER_OTLP_ENDPOINT": ENDPOINT, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=canary-header-1"}
    ran = subprocess.run([FLOW, *arguments], cwd=folder, env=env | variables, capture_output=True, text=True, timeout=60)
    if os.environ.get("SHOW"):
        print(ran.stderr, draw(), sep="\n")
    return ran


def draw():
    by_parent, lines = {}, []
    for span in spans:
        by_parent.setdefault(span.parent_span_id, []).append(span)
    ids = {span.span_id for span in spans}

    def below(parent, depth):
        for span in sorted(by_parent.get(parent, []), key=lambda span: span.start_time_unix_nano):
            lines.append("  " * depth + f"{span.name} {attributes(span.attributes)} {[e.name for e in span.events]}")
            below(span.span_id, depth + 1)

    for root in {span.parent_span_id for span in spans} - ids:
        below(root, 0)
    return "\n".join(lines)


def check_tree(parent=b""):
    assert spans, "no span came"
    ids = [span.span_id for span in spans]
    assert len(set(ids)) == len(ids), "a span came twice"
    roots = [span for span in spans if span.parent_span_id not in ids]
    assert len(roots) == 1 and roots[0].parent_span_id == parent, draw()
    assert len({span.trace_id for span in spans}) == 1
    for span in spans:
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
        known = attributes(span.attributes)
        assert (span.status.code == 2) == ("error.type" in known), span
        operation = known.get("gen_ai.operation.name")
        required = {
            "chat": ["gen_ai.provider.name"],
            "execute_tool": ["gen_ai.tool.name"],
            "invoke_agent": ["gen_ai.agent.name"],
            "invoke_workflow": [],
            "plan": ["gen_ai.agent.name"],
            None: [],
        }[operation]
        assert all(name in known for name in required), span
        assert operation is None or span.name.split()[0] == operation, span
        for event in span.events:
            if event.name == "gen_ai.evaluation.result":
                assert {"gen_ai.evaluation.name", "gen_ai.evaluation.score.label"} <= set(attributes(event.attributes)), event
    return roots[0]


def audit(folder):
    told = subprocess.run([FLOW, "audit", "export"], cwd=folder, capture_output=True, text=True, env={"FLOW_CONFIG": ""}, check=True).stdout
    records = [json.loads(line) for line in told.splitlines()]
    return records[-1]["session_id"], {one["trace_id"] for one in records if one["session_id"] == records[-1]["session_id"]}


with tempfile.TemporaryDirectory() as place:
    place = Path(place)
    for name in ("pipelines", "channels", "style_guides"):
        subprocess.run(["cp", "-r", REPO / name, place], check=True)
    (place / "flow.toml").write_text("")

    asked = ("run", "pipelines/timesheet/pipeline.yaml", "--input", "message=Check my timesheet please")
    ran = run(place, *asked, OTEL_SERVICE_NAME="shop", OTEL_RESOURCE_ATTRIBUTES="team=a")
    assert ran.returncode in (0, 5), ran.stderr
    root = check_tree()
    run_id, traces = audit(place)
    assert traces == {root.trace_id.hex()}, "the trace ids of the audit are those of the spans"
    assert attributes(root.attributes)["flow.run.id"] == run_id
    assert root.name == "invoke_workflow timesheet", root.name
    assert resources[0]["service.name"] == "shop" and resources[0]["team"] == "a", resources
    assert not any(b"canary" in body or b"timesheet please" in body for body in bodies), "content or a header was sent"
    names = {metric.name for metric in metrics}
    wanted = {f"gen_ai.{name}.duration" for name in ("client.operation", "workflow", "invoke_agent", "execute_tool")}
    assert wanted <= names, names
    for metric in metrics:
        for point in metric.histogram.data_points:
            assert point.count and point.explicit_bounds and len(point.bucket_counts) == len(point.explicit_bounds) + 1, metric

    caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    ran = run(place, *asked, TRACEPARENT=caller, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true")
    root = check_tree(parent=bytes.fromhex("00f067aa0ba902b7"))
    assert audit(place)[1] == {"4bf92f3577b34da6a3ce929d0e0e4736"} == {root.trace_id.hex()}
    messages = [attributes(span.attributes).get("gen_ai.input.messages") for span in spans]
    messages = [json.loads(one) for one in messages if one]
    assert messages and all({"role", "parts"} <= set(message) for one in messages for message in one), messages
    assert any(b"timesheet please" in body for body in bodies)

    # Routes, called pipelines, elements beside each other, a written plan, tasks, code and queries.
    ran = run(place, "run", "pipelines/analyst/pipeline.yaml", "--trust", "-q", "--input", "question=What revenue is planned for 2026?")
    assert ran.returncode == 0, ran.stderr
    root = check_tree()
    assert {"plan planner", "execute_tool sql", "invoke_agent writer"} <= {span.name for span in spans}
    print(f"analyst: {len(spans)} spans")

    ran = run(place, *asked, OTEL_SDK_DISABLED="true")
    assert not bodies, "telemetry is off"

print("telemetry: read by the official package")
