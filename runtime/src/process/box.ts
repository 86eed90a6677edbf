import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import type { Resources } from '../driver.ts'
import { type Cgroup, cgroupNames, openCgroup } from './cgroup.ts'
import { type Host, boxMark } from './host.ts'
import { type Program, launchScript, markOf, markProgram } from './launch-script.ts'
import { LineSplitter } from './lines.ts'
import { findProcess, listProcesses, startEnvironment } from './processes.ts'
import { endPrograms } from './program-tree.ts'
import { type Confinement, PLAIN_ENV, confine } from './sandbox.ts'

/** One program with limits, its own user and a restricted view of the files. Its child processes end with it. */
export type Box = Program &
  Confinement & {
    /** One word, unique in the state directory; names the cgroup and marks the processes. */
    name: string
    resources: Resources
  }

export type BoxRun = Box & {
  /** Time limit, after which the whole process tree is killed. */
  timeMs: number
  signal: AbortSignal
  onLine: (text: string, stream: 'stdout' | 'stderr') => void
}

export type BoxResult = {
  /** 128 + n for signal n; 127: no such command. */
  exitCode: number
  outOfMemory: boolean
  timedOut: boolean
  aborted: boolean
}

/** Shell script: joins the cgroups listed before `--`, then executes the command after it. */
const ENTER = 'while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done; shift; exec "$@"'

/**
 * Runs the program to its end, after which none of its processes remains. With bubblewrap it is killed together with this process;
 * otherwise `endBoxes` kills what an earlier process left.
 * @throws only when the host fails (no more processes, no cgroup can be created)
 */
export async function runInBox(host: Host, run: BoxRun): Promise<BoxResult> {
  await endBox(host, run.name)
  const cgroup = host.cgroups && openCgroup(host.cgroups, run.name)
  cgroup?.create(run.resources)
  try {
    return await runToEnd(host, run, cgroup)
  } finally {
    await cgroup?.remove()
  }
}

/** Kills boxes of an earlier server whose name starts with `prefix`, except the `spared`. */
export async function endBoxes(host: Host, prefix: string, spared: ReadonlySet<string> = new Set()): Promise<void> {
  const marks = listProcesses().map(({ pid }) => markOf(startEnvironment(pid)))
  const markPrefix = boxMark(host, '')
  const marked = marks
    .filter((mark) => mark?.startsWith(markPrefix))
    .map((mark) => mark?.slice(markPrefix.length) ?? '')
  const names = new Set([...marked, ...(host.cgroups ? cgroupNames(host.cgroups) : [])])
  for (const name of names) if (name.startsWith(prefix) && !spared.has(name)) await endBox(host, name)
}

async function endBox(host: Host, name: string): Promise<void> {
  const cgroup = host.cgroups && openCgroup(host.cgroups, name)
  await endPrograms({ mark: boxMark(host, name), cgroup, root: null }, KILL)
  await cgroup?.remove()
}

const KILL = { graceMs: 0, spare: null }

async function runToEnd(host: Host, run: BoxRun, cgroup: Cgroup | null): Promise<BoxResult> {
  const argv = [...(cgroup?.joinFiles ?? []), '--', ...confine(host.sandbox, run), '/bin/sh', '-s']
  // A separate session, so that signals to the terminal of the server do not reach it.
  const child = spawn('/bin/sh', ['-c', ENTER, 'shoal-box', ...argv], { cwd: '/', env: PLAIN_ENV, detached: true })
  const root = child.pid === undefined ? null : findProcess(child.pid)
  const tree = { mark: boxMark(host, run.name), cgroup, root }
  const kill = () => {
    // It may not have joined its cgroup yet.
    child.kill('SIGKILL')
    endPrograms(tree, KILL).catch(() => undefined)
  }
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    kill()
  }, run.timeMs)
  run.signal.addEventListener('abort', kill, { once: true })
  try {
    if (run.signal.aborted) kill()
    const output = [readLines(child.stdout, 'stdout', run.onLine), readLines(child.stderr, 'stderr', run.onLine)]
    // The shell may exit before it has read its script.
    child.stdin.on('error', () => undefined)
    child.stdin.end(launchScript(markProgram(run, boxMark(host, run.name))))
    const [code, signalName]: (number | NodeJS.Signals | null)[] = await once(child, 'exit')
    await endPrograms(tree, KILL)
    await Promise.all(output)
    return {
      exitCode: typeof code === 'number' ? code : 128 + constants.signals[signalName as NodeJS.Signals],
      outOfMemory: (cgroup?.usage()?.oomKills ?? 0) > 0,
      timedOut,
      aborted: run.signal.aborted,
    }
  } finally {
    clearTimeout(timer)
    run.signal.removeEventListener('abort', kill)
  }
}

async function readLines(output: Readable, stream: 'stdout' | 'stderr', onLine: BoxRun['onLine']): Promise<void> {
  const splitter = new LineSplitter()
  for await (const piece of output) for (const line of splitter.push(piece)) onLine(line, stream)
  for (const line of splitter.flush()) onLine(line, stream)
}
