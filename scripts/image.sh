#!/usr/bin/env bash
# Builds the Dockerfile, unchanged and without a registry of images, and tests what docs/containers.md promises.
# Usage: scripts/image.sh [OPTION OF buildah bud...]   (as root, with buildah and debootstrap)
# A Debian with the same Python stands in for the Dockerfile's base: SUITE and MIRROR choose another one, and BASE names
# a folder that keeps it for the next time. The options are the place for what the network here asks for, such as
# --volume /etc/ssl/certs:/etc/ssl/certs:ro.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
base=${BASE:-$work/base}
store=(buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs)
trap '"${store[@]}" umount --all > "$work/log" 2>&1 || true; rm -rf "$work"' EXIT

logged() { "$@" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

stand_in() { # a Debian that has Python where the official image has it
    logged debootstrap --variant=minbase --include=ca-certificates,python3-dev,python3-pip,python3-venv \
        "${SUITE:-trixie}" "$base.new" ${MIRROR:+"$MIRROR"}
    ln -s ../../bin/python3 "$base.new/usr/local/bin/python"
    rm -rf "$base.new"/usr/lib/python3*/EXTERNALLY-MANAGED "$base.new"/var/cache/apt/archives/*.deb
    mv "$base.new" "$base"
}

build() {
    local name
    name=$(sed -n 's/^FROM \([^ ]*\).*/\1/p' Dockerfile | sort -u)  # one base for all stages
    logged "${store[@]}" from --name base scratch
    logged "${store[@]}" copy base "$base" /
    logged "${store[@]}" config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin base
    logged "${store[@]}" commit --rm base "localhost/$name"
    logged "${store[@]}" bud --isolation chroot --tag mlcli "$@" .
    logged "${store[@]}" from --name made localhost/mlcli
    root=$("${store[@]}" mount made)
    mapfile -t environment < <(configured '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' | grep .)
    entry=$(configured '{{index .OCIv1.Config.Entrypoint 0}}')
}

configured() { "${store[@]}" inspect --type image --format "$1" localhost/mlcli; }

# A command in the image as process 1 of a user without a name, on a read-only root, without network, HOME and
# capabilities; its working directory is $data.
inside() {
    root=$root data=$data unshare --mount --net --pid --fork --kill-child bash -euo pipefail -c '
        mount --bind "$root" "$root"
        mount -o remount,bind,ro "$root"
        mount -t tmpfs tmpfs "$root/tmp"
        mount -t proc proc "$root/proc"
        mount --bind /dev "$root/dev"
        mount --bind "$data" "$root/data"
        exec env -i "${@:2:$1}" setpriv --no-new-privs chroot --userspec=23456:23456 --groups= \
            "$root" sh -c "cd /data && exec \"\$@\"" - "${@:$1 + 2}"
    ' - "${#environment[@]}" "${environment[@]}" "$@"
}

mlcli() { inside "$entry" "$@"; }

promise() { # what is promised, and the command that shows it
    if "${@:2}" > "$work/log" 2>&1; then echo "ok: $1"; else echo "BROKEN: $1"; cat "$work/log"; broken=1; fi
}

refused() { local code=$1; shift; "$@" || [ $? = "$code" ]; }

figures() {
    mlcli embed roll.csv -o drawn --method isomap --set 'report.figures=[svg,png,pdf]' -q 2> "$data/told"
    [ ! -s "$data/told" ] || { cat "$data/told"; return 1; }
    for name in scree scatter; do
        for format in svg png pdf; do [ -s "$data/drawn/$name.$format" ] || return 1; done
    done
}

pipes() {
    mlcli embed roll.csv -o whole -q
    mlcli embed - -o - -q < "$data/roll.csv" > "$data/piped.csv"
    cmp "$data/whole/embedding.csv" "$data/piped.csv"
}

stopped() {
    mlcli sample swiss-roll --rows 60000 -o large.csv
    local code=0 process unshared
    mlcli embed large.csv --method isomap -o unfinished --progress json 2> "$work/progress" & process=$!
    until [ -s "$work/progress" ] || ! kill -0 "$process"; do sleep 0.1; done
    unshared=$(pgrep -P "$process")
    kill -TERM "$(pgrep -P "$unshared")"
    wait "$process" || code=$?
    [ "$code" = 143 ] && ! compgen -G "$data/*unfinished*" && ! compgen -G "$data/.unfinished*"
}

nowhere_else() { # all that is writable is the output and TMPDIR
    inside bash -c 'for place in / /home /var/tmp /opt/mlcli; do ! touch "$place/x" || exit 1; done; touch /data/x /tmp/x'
}

[ -d "$base" ] || stand_in
build "$@"
data=$work/data broken=0
mkdir "$data"
chown 23456:23456 "$data"
promise "the entry point is mlcli" mlcli --version
promise "only output and TMPDIR can be written" nowhere_else
promise "no HOME, no network, a user without a name" inside bash -c '! [ -v HOME ] && ! id -un && ! grep -q : <(tail -n +3 /proc/net/dev | grep -v " lo:")'
promise "data is made and embedded" mlcli sample swiss-roll --rows 3000 -o roll.csv
promise "kernels and METIS are there" inside python -c '
from mlcli import native; from mlcli.core import sparse_factors as ordering; assert native.available() and ordering.available()'
promise "the S3 client is there" inside python -c 'from pyarrow.fs import S3FileSystem; S3FileSystem(region="us-east-1")'
promise "figures as PNG and PDF, without a word" figures
promise "pipes carry the bytes of a file" pipes
promise "a run is verified" mlcli verify whole
promise "bash, sh and ps" inside bash -c 'sh -c true && ps'
promise "exit codes are mlcli's" refused 66 mlcli embed missing.csv -q
promise "SIGTERM to process 1 is 143 and leaves nothing" stopped
exit "$broken"
