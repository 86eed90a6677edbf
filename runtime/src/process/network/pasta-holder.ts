import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { commandLine, findProcess, isInSandbox, isSameProcess, listProcesses, signal } from '../processes.ts'
import { PLAIN_ENV } from '../sandbox.ts'
import { PASTA_ADDRESS, PASTA_GATEWAY } from './pasta-rules.ts'

type Identity = { pid: number; startedAt: string }

/**
 * The processes of a network, which outlive the server. `leader`: the leader of their process group, which is root in its own user
 * namespace, and restarts pasta when pasta ends. `holder`: a process in the namespaces of programs: a network namespace, and a user
 * namespace below that of the leader.
 */
export type NetworkProcesses = { leader: Identity; holder: Identity }

/**
 * The script of the holder, which keeps the namespaces until the directory of the installation is deleted. Neither the holder nor
 * programs that join its namespaces have capabilities. Its user namespace has no root, so no program owns the settings of the network
 * in /proc/sys.
 */
const HOLDER = 'echo $$; exec >/dev/null 2>&1; while [ -d "${1%/*}" ]; do sleep 100; done; kill 0'

const PASTA = [
  'pasta --foreground --quiet --ipv4-only --config-net --ns-ifname eth0',
  `--address ${PASTA_ADDRESS} --netmask 30 --gateway ${PASTA_GATEWAY} --no-map-gw --no-dhcp`,
  '--tcp-ports none --udp-ports none --udp-ns none --netns-only',
].join(' ')

/**
 * The script of the leader, which starts pasta after the server has loaded the rules and sent a line. Ends if pasta fails before it
 * has connected the network; later, restarts pasta whenever it ends. Closes its own output, so that the server reads the end of the
 * output if the namespaces cannot be created.
 */
const LEADER = `
trap 'trap - TERM; kill 0' EXIT
trap 'exit 0' TERM
unshare --user --map-user="$2" --map-group="$3" --net -- /bin/sh -c "$4" sh "$1" &
netns=/proc/$!/ns/net
exec >/dev/null 2>&1
read -r line || exit 0
exec </dev/null
connected=
while :; do
  ${PASTA} $(cat "$1.arguments") --netns $netns --log-file "$1.log" --pid "$1" 2>"$1.errors" &
  wait $!
  [ ! -s "$1" ] || connected=1
  [ "$connected" ] || exit 1
  sleep 1
done`

const SUFFIXES = ['', '.arguments', '.log', '.errors']
const POLL_MS = 5
const READY_MS = 20_000
const END_MS = 20_000

/**
 * Starts the processes of a network. `file` identifies them, and is the prefix of their files' names. `load` loads the rules of the network
 * before it is connected.
 * @throws Error when the host does not support such networks
 */
export async function startNetworkProcesses(
  file: string,
  pastaArguments: string,
  load: (created: NetworkProcesses) => Promise<void>,
): Promise<NetworkProcesses> {
  writeFileSync(`${file}.arguments`, pastaArguments, { mode: 0o600 })
  const ids = [process.getuid?.(), process.getgid?.()].map(String)
  const script = ['/bin/sh', '-c', LEADER, 'sh', file, ...ids, HOLDER]
  const child = spawn('unshare', ['--user', '--map-root-user', '--', ...script], {
    cwd: '/',
    env: PLAIN_ENV,
    detached: true,
  })
  try {
    const holder = identify(Number(await firstLine(child)))
    const leader = identify(child.pid ?? 0)
    await load({ leader, holder })
    child.stdin.write('\n')
    await waitForPasta(file, leader)
    return { leader, holder }
  } catch (error) {
    if (child.pid !== undefined && child.exitCode === null) killGroup(child.pid)
    removeFiles(file)
    throw error
  } finally {
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy()
    child.unref()
  }
}

function identify(pid: number): Identity {
  const found = findProcess(pid)
  if (!found) throw new Error('The processes of a network have ended')
  return { pid, startedAt: found.startedAt }
}

async function firstLine(child: ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream }) {
  const output = { out: '', errors: '' }
  child.stdin?.on('error', () => undefined)
  child.stderr.on('data', (piece: Buffer) => (output.errors += piece.toString()))
  const outputEnded = Promise.all([once(child.stdout, 'end'), once(child.stderr, 'end')])
  const ended = Promise.race([once(child, 'close'), outputEnded]).then(() => null)
  while (!output.out.includes('\n')) {
    const piece = await Promise.race([once(child.stdout, 'data').then(([data]) => String(data)), ended])
    if (piece === null) throw new Error(output.errors.trim().split('\n')[0] || 'unshare ended')
    output.out += piece
  }
  return output.out
}

/** Waits until pasta has connected the network. @throws Error with the message of pasta if pasta ends instead */
async function waitForPasta(file: string, leader: Identity, earlierPid = ''): Promise<void> {
  const isReady = () => !['', earlierPid].includes(textOf(file).trim())
  await waitUntil(() => isReady() || !isRunning(leader), READY_MS, 'pasta did not connect the network in time')
  if (!isReady()) throw new Error(reasonIn(file))
}

function reasonIn(file: string): string {
  const lines = `${textOf(`${file}.errors`)}\n${textOf(`${file}.log`)}`.split('\n')
  const errors = lines.filter((line) => line !== '' && !/to syslog|unknown version/.test(line))
  return `pasta ended: ${errors.at(-1) ?? 'without a message'}`
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Restarts pasta with other arguments, which closes the connections of programs. @throws Error when it does not start */
export async function restartPasta(file: string, { leader }: NetworkProcesses, pastaArguments: string): Promise<void> {
  writeFileSync(`${file}.arguments`, pastaArguments, { mode: 0o600 })
  const pid = textOf(file).trim()
  if (idOf(commandLine(Number(pid)), dirname(file)) === basename(file)) signal(Number(pid), 'SIGKILL')
  await waitForPasta(file, leader, pid)
}

/** False when programs can no longer join the network. */
export const isComplete = ({ leader, holder }: NetworkProcesses): boolean => isRunning(leader) && isRunning(holder)

/** Ends the processes of a network, and removes their files. @throws Error when a process survives SIGKILL */
export async function endNetworkProcesses(file: string, created: NetworkProcesses): Promise<void> {
  if (isRunning(created.leader)) killGroup(created.leader.pid)
  else await endOthers(dirname(file), (id) => id !== basename(file))
  await waitUntil(
    () => !isRunning(created.leader) && !isRunning(created.holder),
    END_MS,
    'The processes of a network survived SIGKILL',
  )
  removeFiles(file)
}

/** Ends the processes of all networks in the directory `dir`, except those for whose id `isInUse` returns true, and removes the files of the ended networks. */
export async function endOthers(dir: string, isInUse: (id: string) => boolean): Promise<void> {
  const list = () => {
    const all = listProcesses()
    const mustEnd = (id: string | null) => id !== null && !isInUse(id)
    const toEnd = all.filter(({ pid }) => mustEnd(idOf(commandLine(pid), dir)) && !isInSandbox(pid))
    const pids = new Set(toEnd.map(({ pid }) => pid))
    return all.filter(({ pid, parent }) => pids.has(pid) || pids.has(parent))
  }
  await waitUntil(
    () => {
      const found = list()
      for (const { pid } of found) signal(pid, 'SIGKILL')
      return found.length === 0
    },
    END_MS,
    'The processes of a network survived SIGKILL',
  )
  for (const name of readdirSync(dir)) if (!isInUse(name.split('.')[0] ?? '')) rmSync(`${dir}/${name}`, { force: true })
}

/** Returns the id of the network to which a process belongs, from its arguments, since other properties of pasta are not readable. */
function idOf(args: string[], dir: string): string | null {
  const file = args.find((arg) => dirname(arg) === dir && /^[0-9a-f]{10}$/.test(basename(arg)))
  return file === undefined ? null : basename(file)
}

const isRunning = ({ pid, startedAt }: Identity) => isSameProcess(pid, startedAt)

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}

async function waitUntil(condition: () => boolean, ms: number, problem: string): Promise<void> {
  const deadline = performance.now() + ms
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(problem)
    await delay(POLL_MS)
  }
}

const removeFiles = (file: string) => SUFFIXES.forEach((suffix) => rmSync(`${file}${suffix}`, { force: true }))
