# Supervises one run of a container: starts the program, waits for it and records its exit code. Runs in a separate process and
# session, so that containers outlive the server and an exit is recorded even while no server runs.
#
# arguments: the run's directory, the grace period as a number of polls of 50 ms, the files through which a process joins the
# cgroups, `--`, the command
# stdin: the launch script, passed to the command; stdout and stderr: the container's log

run=$1
grace=$2
shift 2

# The process that creates the directory owns the run: a later server creates it to cancel a pending start.
mkdir "$run" 2>/dev/null || exit 0

# Signals for the program must not end this shell. They are trapped instead of ignored, since the program would inherit ignored signals.
trap : HUP INT TERM

# The file that lists the processes of the first cgroup.
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
# Keeps messages of this shell (such as `Killed`) out of the program's log.
exec 3<&- >/dev/null 2>&1

# The start time in the format of processes.ts, which distinguishes this process from a later one with the same pid.
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

# A trapped signal interrupts `wait` while the program is still running. `kill -0` succeeds until `wait` has reaped the program.
while :; do
  wait "$program"
  code=$?
  kill -0 "$program" 2>/dev/null || break
done
# Child processes must not outlive the program, even while no server is running to end them. If the program was terminated (143),
# they all received SIGTERM and get the grace period; otherwise they are killed immediately.
polls=0
while [ -n "$procs" ] && [ "$polls" -lt "$((grace + 100))" ]; do
  remaining=$(cat "$procs" 2>/dev/null)
  [ -n "$remaining" ] || break
  [ "$code" = 143 ] && [ "$polls" -lt "$grace" ] || kill -KILL $remaining 2>/dev/null
  polls=$((polls + 1))
  sleep 0.05
done
echo "$code" >"$run/exit.new"
mv "$run/exit.new" "$run/exit"
