#!/bin/sh
exec php -S "10.88.1.2:$1" "$(dirname "$0")/page.php"
