<?php
// check.php URL: the page is whole and has a post on it; otherwise something else would be measured.
$page = file_get_contents($argv[1], false, stream_context_create(['http' => ['follow_location' => 0]]));
if ($page === false || !str_contains($page, 'Hello world!') || !str_contains($page, '</html>')) {
    fwrite(STDERR, "$argv[1] is not WordPress's front page: " . substr((string) $page, 0, 2000) . "\n");
    exit(1);
}
