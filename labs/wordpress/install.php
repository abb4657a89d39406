<?php
// install.php SITE: WordPress's own installation, from the command line, without its mail.
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = 'web';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
$_SERVER['REQUEST_METHOD'] = 'GET';

function wp_new_blog_notification($title, $url, $user, $password) {}

require $argv[1] . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';

$theme = wp_get_theme('twentytwentythree');
if (!$theme->exists()) {
    fwrite(STDERR, "WordPress has no theme: install the package wordpress-theme-twentytwentythree\n");
    exit(1);
}
if (!is_blog_installed()) {
    wp_install('A lab', 'admin', 'admin@example.org', true, '', 'lab');
}
if (!is_blog_installed()) {
    fwrite(STDERR, "WordPress was not installed\n");
    exit(1);
}
switch_theme($theme->get_stylesheet());
// Names for pages instead of numbers would need rules in the web server.
update_option('permalink_structure', '');
fwrite(STDERR, 'WordPress ' . get_bloginfo('version') . ', theme ' . wp_get_theme()->get('Name') . "\n");
