# Seeds Request Tracker by its own library: root's password, users, a queue, 120 tickets with correspondence, a session of root's.
use strict;
use warnings;
use RT -init;

my $system = RT->SystemUser;
my $root = RT::User->new($system);
$root->Load('root');
$root->SetPassword('demodemo');
for my $number (1 .. 20) {
    RT::User->new($system)->Create(Name => "user$number", RealName => "User $number", EmailAddress => "user$number\@example.org", Privileged => $number % 2);
}
my $queue = RT::Queue->new($system);
$queue->Create(Name => 'Support', Description => 'Support');
my $current = RT::CurrentUser->new;
$current->Load('root');
for my $number (1 .. 120) {
    my $ticket = RT::Ticket->new($current);
    $ticket->Create(
        Queue => $number % 3 ? 'Support' : 'General',
        Subject => "Printer $number does not print",
        Requestor => 'user' . (1 + $number % 20) . '@example.org',
        Owner => $number % 4 ? 'Nobody' : 'root',
        Priority => $number % 50,
        MIMEObj => MIME::Entity->build(Type => 'text/plain', Data => ["It makes a noise.\n", "Number $number.\n"]),
    );
    $ticket->Correspond(MIMEObj => MIME::Entity->build(Type => 'text/plain', Data => ["Did you turn it off?\n"])) for 1 .. $number % 4;
    $ticket->Comment(MIMEObj => MIME::Entity->build(Type => 'text/plain', Data => ["A loose cable.\n"])) if $number % 2;
}

# a browser session of root's for each of the measured clients, with names that APP.json knows
require RT::Interface::Web;
require Apache::Session::Generate::MD5;
for my $number (0 .. 3) {
    no warnings qw(redefine once);
    local *Apache::Session::Generate::MD5::generate = sub { $_[0]{data}{_session_id} = 'abcdef01' x 3 . "abcdef0$number" };
    local *Apache::Session::Generate::MD5::validate = sub { 1 };
    my %session;
    tie %session, 'RT::Interface::Web::Session', undef;
    $session{CurrentUser} = $current;
    untie %session;
}
