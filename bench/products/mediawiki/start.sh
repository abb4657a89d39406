#!/bin/bash
# start.sh: MediaWiki in $WEB (nginx, PHP's process manager), its MariaDB in $DB; makes and seeds it at its first start.
# Signs in once for each of four clients: vars.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
. "$here/../php.sh"
state=$PRODUCTS/mediawiki
mkdir -p "$state/nginx"
chmod 755 "$state"
start_mariadb mediawiki

if [ ! -e "$state/LocalSettings.php" ]; then
    in_web php /usr/share/mediawiki/maintenance/install.php --dbserver=10.88.2.2 --dbname=mediawiki --dbuser=mediawiki --dbpass=demo \
        --installdbuser=mediawiki --installdbpass=demo --server=http://10.88.1.2:8000 --scriptpath= --confpath="$state" --skins=Vector \
        --extensions=Cite,CategoryTree,ParserFunctions,WikiEditor --pass=demo-password Wiki Admin >"$state/install.log"
    echo '$wgArticlePath = "/wiki/$1";' >>"$state/LocalSettings.php"
fi

start_php /usr/share/mediawiki "env[MW_CONFIG_FILE] = $state/LocalSettings.php" 'location /wiki/ { rewrite ^ /index.php; }'
wait_for http://10.88.1.2:8000/wiki/Main_Page
[ -e "$state/seeded" ] || { in_web python3 "$here/seed.py" http://10.88.1.2:8000 seed; touch "$state/seeded"; }
in_web python3 "$here/seed.py" http://10.88.1.2:8000 sign-in >"$state/vars.json"
