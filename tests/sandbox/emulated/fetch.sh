#!/usr/bin/env bash
# Fetches what emulated machines need: QEMU by apt, and Debian's kernel unpacked into the directory that is named.
set -euo pipefail
target=$1
explain() {
    echo "The emulated machine's tests need QEMU and a Debian kernel image, by apt-get on Debian, as root for QEMU:" >&2
    echo "  apt-get install $qemu; apt-get download linux-image-$kind; dpkg -x linux-image-*.deb $target" >&2
    exit 1
}
case $(uname -m) in
    x86_64) qemu=qemu-system-x86 kind=amd64 program=qemu-system-x86_64 ;;
    aarch64) qemu=qemu-system-arm kind=arm64 program=qemu-system-aarch64 ;;
    *) echo "No emulated machine is written for $(uname -m)." >&2; exit 1 ;;
esac
command -v apt-get apt-cache dpkg >/dev/null || explain
command -v "$program" >/dev/null ||
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends "$qemu" >/dev/null; } || explain
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The package of that name is empty and depends on the newest image.
package=$(apt-cache depends "linux-image-$kind" | awk '/Depends: linux-image/ { print $2; exit }')
(cd "$folder" && apt-get download -qq "$package") || explain
dpkg -x "$folder"/linux-image-*.deb "$folder/unpacked"
mkdir -p "$target"
rm -rf "$target/boot" "$target/lib"
# The kernel comes last: with it the directory counts as whole.
mv "$folder/unpacked/lib" "$target/lib"
mv "$folder/unpacked/boot" "$target/boot"
