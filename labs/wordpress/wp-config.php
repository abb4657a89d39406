<?php
// WordPress inside labs/wordpress.toml: the database is the host "database", and nothing else can be reached.
define('DB_HOST', 'database');
define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', 'wordpress');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');

// The address under which it is asked, whatever it was at the time of the installation.
define('WP_HOME', 'http://' . ($_SERVER['HTTP_HOST'] ?? 'web'));
define('WP_SITEURL', WP_HOME);

// A page is a page: no jobs on the side, no look for news.
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_AUTO_UPDATE_CORE', false);
define('WP_DEBUG', false);

// Of no secret: the lab is gone when its run ends.
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define($name . '_KEY', 'lab');
    define($name . '_SALT', 'lab');
}

$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
