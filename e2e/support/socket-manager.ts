/**
 * Returns a command that opens ports and runs the command that follows it with these ports, as systemd does for a service with a socket
 * unit. When the program ends, it is started again, until this command receives SIGTERM. The ports stay open all the time.
 */
export const withSockets = (ports: number[]): string[] => [
  'perl',
  '-e',
  program,
  String(ports.length),
  ...ports.map(String),
]

/** Perl is part of every Debian. Node could not keep a port open without accepting connections. */
const program = `
use strict;
use Socket;
$^F = 64; # The sockets stay open in the program.
my @sockets;
my $count = shift @ARGV;
for (1 .. $count) {
  socket(my $socket, PF_INET, SOCK_STREAM, 0) or die $!;
  setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1) or die $!;
  bind($socket, sockaddr_in(shift @ARGV, INADDR_LOOPBACK)) or die $!;
  listen($socket, 4096) or die $!;
  push @sockets, $socket;
}
my $ended = 0;
until ($ended) {
  my $pid = fork() // die $!;
  if ($pid == 0) {
    $ENV{LISTEN_PID} = $$;
    $ENV{LISTEN_FDS} = $count;
    exec @ARGV or die $!;
  }
  $SIG{TERM} = sub { $ended = 1; kill 'TERM', $pid; };
  1 until waitpid($pid, 0) == $pid;
}
`
