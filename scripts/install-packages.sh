#!/bin/sh
# install-packages.sh PACKAGE...: installs Debian packages, as root, without starting the services that they bring:
# the tests start servers of their own. A service that ran before is not touched.
set -eu

policy=/usr/sbin/policy-rc.d
guarded=no
new_services=
for service in postgresql mariadb redis-server prometheus haproxy nginx apache2 ssh php8.1-fpm php8.2-fpm php8.3-fpm php8.4-fpm; do
    [ -e "/lib/systemd/system/$service.service" ] || new_services="$new_services $service"
done

restore() {
    [ "$guarded" = no ] || rm -f "$policy"
}
trap restore EXIT
trap 'exit 130' INT TERM

# Debian's package scripts ask this program before they start a service; 101 forbids it.
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    guarded=yes
fi

export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@" </dev/null

# Nor are the new ones started with the machine.
if [ -d /run/systemd/system ]; then
    for service in $new_services; do
        systemctl disable "$service" 2>/dev/null || true
    done
fi
