"""Times Hold My Agent 0.5.0 on the road that docs/benchmarks.md compares with ours.

One sample is create -> decide -> fetch -> verify -> consume, over its own server, its own client classes and its own
verifier, as its warden calls them; the only setting changed is the rate limit. Prints one JSON line of times in milliseconds.

usage: python hma.py FOLDER SAMPLES   (in an environment with `pip install holdmyagent hold-warden`; FOLDER is on the disk
whose flushes are measured)
"""

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import httpx
from hold_warden.arbiter import ArbiterClient
from hold_warden.canonical import canonicalize
from hold_warden.verdict import VerdictVerifier

WARM_UP = 20


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def configure(folder: Path, port: int) -> Path:
    path = folder / "config.toml"
    secrets = [hashlib.sha256(os.urandom(32)).hexdigest() for _ in range(4)]
    path.write_text(
        f'[server]\nhost = "127.0.0.1"\nport = {port}\ndb_path = "{folder}/arbiter.sqlite3"\n'
        f'[auth]\nagent_token = "{secrets[0]}"\napp_token = "{secrets[1]}"\n'
        f'admin_password = "{secrets[2]}"\nsession_secret = "{secrets[3]}"\n'
        "[policy]\nrate_limit_per_minute = 1000000\n"
    )
    path.chmod(0o600)
    return path


def token(config: Path, name: str, role: str, environment: dict) -> str:
    command = ["hma", "token", "create", name, "--role", role, "--config", str(config)]
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return next(line.split()[-1] for line in out.splitlines() if line.startswith("token: "))


def wait_until_up(base: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{base}/health", timeout=1).read()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("its server did not start")


def sample(number: int, warden: ArbiterClient, person: httpx.Client, verifier: VerdictVerifier) -> list[float]:
    params = {"command": f"make target-{number}"}
    canonical, action_hash = canonicalize("shell", "command", params, {"argv": ["make"]}, "bench")
    marks = [time.perf_counter()]
    made = warden.create_request(
        title=f"bench: shell {number}", description="bench", action_type="shell", severity="low", ttl_seconds=600,
        payload=params, canonical_action=canonical, action_hash=action_hash, idempotency_key=f"bench-{number}",
    )
    marks.append(time.perf_counter())
    answer = person.post(f"/v1/requests/{made['id']}/decision", json={"decision": "approve"})
    if answer.status_code != 200:
        raise SystemExit(f"decide: {answer.status_code} {answer.text}")
    marks.append(time.perf_counter())
    state = warden.get_request(made["id"])
    signed = warden.get_verdict(made["id"])
    marks.append(time.perf_counter())
    verdict = verifier.verify(signed, made["id"], action_hash)
    if (verdict.decision, state["status"]) != ("approved", "approved"):
        raise SystemExit(f"not approved: {verdict} {state}")
    marks.append(time.perf_counter())
    warden.consume(made["id"])
    marks.append(time.perf_counter())
    return [(end - start) * 1000 for start, end in zip(marks, marks[1:])]


def main() -> None:
    folder, samples = Path(sys.argv[1]), int(sys.argv[2])
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder)}
    port = free_port()
    config = configure(folder, port)
    log = open(folder / "log", "w")
    server = subprocess.Popen(["hma", "serve", "--config", str(config)], env=environment, stdout=log, stderr=log)
    try:
        base = f"http://127.0.0.1:{port}"
        wait_until_up(base)
        warden = ArbiterClient(base, token(config, "warden-1", "warden", environment))
        person = httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token(config, 'phone', 'app', environment)}"})
        keys = person.get("/v1/keys").json()["keys"]
        padded = {key["kid"]: key["x"] + "=" * (-len(key["x"]) % 4) for key in keys}
        pinned = {kid: base64.urlsafe_b64decode(x) for kid, x in padded.items()}
        verifier = VerdictVerifier(pinned, keys[0]["kid"].split(":", 1)[0])
        rows = [sample(number, warden, person, verifier) for number in range(WARM_UP + samples)][WARM_UP:]
    finally:
        server.terminate()
        server.wait()
    print(json.dumps({"steps": ["create", "decide", "fetch", "verify", "consume"], "ms": rows}))


if __name__ == "__main__":
    main()
