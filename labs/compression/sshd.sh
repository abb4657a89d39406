#!/bin/sh
# sshd.sh PORT: a server of OpenSSH for this run alone, with keys of its own; whoever has the file `key` beside it may log in.
set -eu
cd "$LONGWIRE_SERVICE_DIRECTORY"
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f key
chmod 600 key
cp key.pub authorized
# Where it drops its rights to while it talks to strangers; the system makes it when it starts its own.
[ -d /run/sshd ] || mkdir -m 755 /run/sshd
# StrictModes off: the directory for this run is below one that everybody may write to.
exec /usr/sbin/sshd -D -e -f /dev/null -p "$1" -h "$PWD/host" -o "AuthorizedKeysFile=$PWD/authorized" -o StrictModes=no \
    -o UsePAM=no -o PasswordAuthentication=no -o PermitRootLogin=prohibit-password -o PidFile=none -o MaxSessions=1000
