import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import type { Resources } from '../driver.ts'
import { type Cgroup, cgroupNames, openCgroup } from './cgroup.ts'
import { type Host, programMark } from './host.ts'
import { type Program, launchScript, markOf, markProgram } from './launch-script.ts'
import { LineSplitter } from './lines.ts'
import { readAtLimitedRate } from './output-rate.ts'
import { findProcess, listProcesses, initialEnvironment } from './processes.ts'
import { endPrograms } from './program-tree.ts'
import { type Confinement, PLAIN_ENV, TMP_SHARE, confine } from './sandbox.ts'

/** A program with limits, its own user and a restricted view of the files. Its child processes end with it. */
export type IsolatedProgram = Omit<Program, 'ownsUid'> &
  Omit<Confinement, 'tmpBytes'> & {
    /** A single word, unique in the state directory; the name of the cgroup and the mark of the processes. */
    name: string
    resources: Resources
    /** A command prefix that joins the mount namespace of the program's disk. It runs in the program's network. */
    commandPrefix?: string[]
  }

export type IsolatedRun = IsolatedProgram & {
  /** Time limit, after which the whole process tree is killed. */
  timeMs: number
  signal: AbortSignal
  onLine: (text: string, stream: 'stdout' | 'stderr') => void
}

export type ProgramResult = {
  /** The program's exit code: 128 + n for signal n; 127: no such command. */
  exitCode: number
  outOfMemory: boolean
  timedOut: boolean
  aborted: boolean
}

/** A shell script that joins the cgroups listed before `--`, then executes the command after it. */
const ENTER_CGROUPS = 'while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done; shift; exec "$@"'

/**
 * Runs a program to its end, and kills the processes it leaves. If this process is killed, bubblewrap kills the program;
 * without bubblewrap, the next server does (`endIsolatedPrograms`).
 * @throws only when the host fails (no process can be started, no cgroup can be created)
 */
export async function runIsolated(host: Host, run: IsolatedRun): Promise<ProgramResult> {
  await endIsolatedProgram(host, run.name)
  const cgroup = host.cgroups && openCgroup(host.cgroups, run.name)
  cgroup?.create(run.resources)
  try {
    const network = await host.network.open(networkOf(run.name), 'build', run.uid)
    return await runToEnd(host, run, { cgroup, network })
  } finally {
    await cgroup?.remove()
    await host.network.close(networkOf(run.name))
  }
}

/** Kills the isolated programs that earlier servers started and whose names start with `prefix`, except those in `except`. */
export async function endIsolatedPrograms(
  host: Host,
  prefix: string,
  except: ReadonlySet<string> = new Set(),
): Promise<void> {
  const marks = listProcesses().map(({ pid }) => markOf(initialEnvironment(pid)))
  const markPrefix = programMark(host, '')
  const marked = marks
    .filter((mark) => mark?.startsWith(markPrefix))
    .map((mark) => mark?.slice(markPrefix.length) ?? '')
    // A program chooses the environment of its child processes, and the name becomes a path.
    .filter((name) => PROGRAM_NAME.test(name))
  const names = new Set([...marked, ...(host.cgroups ? cgroupNames(host.cgroups) : [])])
  for (const name of names) if (name.startsWith(prefix) && !except.has(name)) await endIsolatedProgram(host, name)
}

async function endIsolatedProgram(host: Host, name: string): Promise<void> {
  const cgroup = host.cgroups && openCgroup(host.cgroups, name)
  await endPrograms({ mark: programMark(host, name), cgroup, root: null }, KILL)
  await cgroup?.remove()
  await host.network.close(networkOf(name))
}

/** The format of the names of isolated programs. */
const PROGRAM_NAME = /^[\w-][\w.-]{0,99}$/

/** Returns the name of the network of an isolated program. */
const networkOf = (name: string) => `box ${name}`

const KILL = { graceMs: 0, exceptPid: null }

async function runToEnd(
  host: Host,
  run: IsolatedRun,
  { cgroup, network }: { cgroup: Cgroup | null; network: string[] },
): Promise<ProgramResult> {
  const confinement = confine(host, { ...run, tmpBytes: Math.floor(run.resources.memoryBytes * TMP_SHARE) })
  const argv = [
    ...(cgroup?.procsFiles ?? []),
    '--',
    ...network,
    ...(run.commandPrefix ?? []),
    ...confinement,
    '/bin/sh',
    '-s',
  ]
  // A separate session, so that signals to the server’s terminal do not reach the program.
  const child = spawn('/bin/sh', ['-c', ENTER_CGROUPS, 'shoal-box', ...argv], {
    cwd: '/',
    env: PLAIN_ENV,
    detached: true,
  })
  const root = child.pid === undefined ? null : findProcess(child.pid)
  const tree = { mark: programMark(host, run.name), cgroup, root }
  const kill = () => {
    // The shell may not have joined its cgroup yet.
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
    child.stdin.end(launchScript(markProgram({ ...run, ownsUid: run.uid !== null }, programMark(host, run.name))))
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

async function readLines(output: Readable, stream: 'stdout' | 'stderr', onLine: IsolatedRun['onLine']): Promise<void> {
  const splitter = new LineSplitter()
  await readAtLimitedRate(output, (chunk) => {
    const lines = splitter.push(chunk)
    for (const line of lines) onLine(line, stream)
    return lines.length
  })
  for (const line of splitter.flush()) onLine(line, stream)
}
