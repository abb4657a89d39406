#!/bin/sh
# Set-up of the service that runs PHP in labs/wordpress.toml: a private copy of Debian's WordPress, and its installation into
# the lab's database. Nothing of the system is changed and nothing is fetched.
set -eu

source=/usr/share/wordpress
site=$LONGWIRE_SERVICE_DIRECTORY/site
if [ ! -f "$source/wp-settings.php" ]; then
    echo "WordPress is missing: install the package wordpress (make lab-wordpress does)" >&2
    exit 1
fi
mkdir -p "$site"
cp -RL "$source/." "$site/"
rm -f "$site/wp-config.php"
cp wordpress/wp-config.php "$site/wp-config.php"
php wordpress/install.php "$site" >&2
