#!/bin/sh
# The first process of a squid's container: runs the program, forwards signals to all processes, and exits with the program's exit code.
# arguments: the program and its arguments

export NODE_OPTIONS="--require /shoal/wrapper.cjs --require /shoal/introspection.cjs${NODE_OPTIONS:+ $NODE_OPTIONS}"

# Sets `kills` to the number of processes of this container that were killed for lack of memory, from cgroup v2 or v1.
oom_kills() {
  kills=0
  for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$file" ] || continue
    while read -r name count; do
      [ "$name" = oom_kill ] && kills=$count
    done <"$file"
  done
}

# The kernel ignores signals for the first process of a container unless that process handles them. -1 means every other process that
# this one may signal: if this is the first process of a container, all others of the container.
forward() {
  stopped=yes
  if [ "$$" = 1 ]; then kill -"$1" -1; else kill -"$1" "$program"; fi 2>/dev/null
}
stopped=
trap 'forward TERM' TERM
trap 'forward INT' INT
trap 'forward HUP' HUP

# The kills that the program has survived: it continued for at least two seconds.
survived=0
trap 'oom_kills; survived=$kills' USR1

# Signals this process when the count of kills is above zero and has not changed for two seconds.
watch_kills() {
  before=0 reported=0
  while sleep 2; do
    oom_kills
    if [ "$kills" = "$before" ] && [ "$kills" != "$reported" ]; then
      reported=$kills
      kill -USR1 $$
    fi
    before=$kills
  done
}

"$@" &
program=$!
(
  trap - TERM INT HUP USR1
  watch_kills
) >/dev/null 2>&1 &
watcher=$!
# If a signal ends the program, the shell would write a message about it into the program's log.
exec 2>/dev/null
# A trapped signal interrupts `wait` while the program is still running. `kill -0` succeeds until `wait` has reaped the program.
while :; do
  wait "$program"
  code=$?
  kill -0 "$program" 2>/dev/null || break
done

kill -KILL "$watcher"

# Kubernetes reports this text when the container has ended. Without the exit code of a killed program, a shell that hides the kill of its
# child would seem to have succeeded, and would not be started again.
oom_kills
if [ "$kills" -gt 0 ]; then
  echo "{\"oomKills\":$kills,\"survived\":$survived}" >/dev/termination-log
  [ "$code" = 0 ] && [ "$kills" -gt "$survived" ] && code=137
fi

# The kernel kills the other processes when this one ends. If the container received a stop signal, this one waits until they have
# finished, or until the kubelet kills all at the end of the grace period.
while [ -n "$stopped" ] && [ "$$" = 1 ] && kill -0 -1 2>/dev/null; do sleep 0.05; done
exit "$code"
