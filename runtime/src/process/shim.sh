# Watches one run of a container: starts the program, waits for it and records its exit. Runs in a separate process and
# session, so that containers outlive the server and an exit is recorded even while no server runs.
#
# arguments: the run's directory, the grace as looks of 50 ms, the files to join the cgroups by, `--`, the command
# stdin: the launch script, handed on to the command; stdout and stderr: the container's log

run=$1
grace=$2
shift 2

# The process that creates the directory owns the run: a later server creates it to cancel a pending start.
mkdir "$run" 2>/dev/null || exit 0

# Caught, not ignored: the program must begin with the default for each signal, and what is meant for it must not end us.
trap : HUP INT TERM

# The first cgroup's list of processes.
procs=
[ "$1" = -- ] || procs=$1

exec 3<&0 </dev/null
(
  while [ "$1" != -- ]; do
    echo 0 >"$1" || exit 125
    shift
  done
  shift
  exec "$@" <&3 3<&-
) &
program=$!
# The log is the program's: what this shell has to say about it (`Killed`) does not belong there.
exec 3<&- >/dev/null 2>&1

# The same words as in processes.ts: with them a later process that gets our number is not taken for us.
if [ -r "/proc/$$/stat" ]; then
  read -r boot </proc/sys/kernel/random/boot_id
  read -r stat <"/proc/$$/stat"
  set -- ${stat##*) }
  started="$boot:${20}"
else
  set -- $(ps -o lstart= -p "$$")
  started="$*"
fi
echo "$$ $program $started" >"$run/pids.new"
mv "$run/pids.new" "$run/pids"

# A caught signal ends `wait` although the program goes on; a program that is not waited for yet can still be asked after.
while :; do
  wait "$program"
  code=$?
  kill -0 "$program" 2>/dev/null || break
done
# What the program started must not go on without it, also while no server is there to end it. Asked to end (143), all of it was
# asked, and has the grace to do so.
looks=0
while [ -n "$procs" ] && [ "$looks" -lt "$((grace + 100))" ]; do
  left=$(cat "$procs" 2>/dev/null)
  [ -n "$left" ] || break
  [ "$code" = 143 ] && [ "$looks" -lt "$grace" ] || kill -KILL $left 2>/dev/null
  looks=$((looks + 1))
  sleep 0.05
done
echo "$code" >"$run/exit.new"
mv "$run/exit.new" "$run/exit"
