import { spawn } from 'node:child_process'
import { closeSync, cpSync, openSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { insideKube, processesOfMachines } from '../../scripts/kubernetes/machine.ts'
import { hasOwnNodes } from './cluster-nodes.ts'
import { tryKubectl } from './kubernetes.ts'
import { until } from './until.ts'

/** True: the parts of the cluster are processes of this host, so a test can end and start them. */
export const hasOwnParts = hasOwnNodes

/** A process of the cluster's program, and what is needed to start it again. */
type Part = { name: string; pid: number; command: string[]; machinePid: number; env: NodeJS.ProcessEnv; log: string }

const etcdFolder = () => join(dirname(dirname(process.env['SHOAL_TEST_KUBECONFIG'] ?? '')), 'etcd')

/** Copies the data of etcd as it is at this moment to a folder, which must not exist. */
export function snapshotEtcd(to: string): void {
  const etcd = partsOf().find(({ name }) => name === 'etcd')
  if (!etcd) throw new Error('There is no etcd on this host')
  // The copy is what etcd finds after a crash, from which it recovers.
  process.kill(etcd.pid, 'SIGSTOP')
  try {
    cpSync(etcdFolder(), to, { recursive: true })
  } finally {
    process.kill(etcd.pid, 'SIGCONT')
  }
}

/** Ends all parts of the cluster, replaces the data of etcd, and starts them again. Pods continue. */
export async function restoreEtcd(from: string): Promise<void> {
  const parts = partsOf()
  for (const { pid } of parts) process.kill(pid, 'SIGKILL')
  await until(() => partsOf().length === 0, 'all parts have ended')
  // The folder itself is mounted in the machine.
  for (const entry of readdirSync(etcdFolder())) rmSync(join(etcdFolder(), entry), { recursive: true })
  cpSync(from, etcdFolder(), { recursive: true })
  const [store, rest] = [['etcd', 'kube-apiserver'], parts.map(({ name }) => name)]
  for (const part of parts.filter(({ name }) => store.includes(name))) start(part)
  const isReady = async () => (await tryKubectl(['get', '--raw', '/readyz'])).output === 'ok'
  await until(isReady, 'the API server is ready')
  for (const part of parts.filter(({ name }) => rest.includes(name) && !store.includes(name))) start(part)
  const nodes = ['wait', 'nodes', '--all', '--for=condition=Ready', '--timeout=50s']
  await until(async () => (await tryKubectl(nodes)).code === 0, 'the nodes are ready')
}

/** The processes of the cluster's program, in the order in which they were started. */
function partsOf(): Part[] {
  const processes = processesOfMachines().map((pid) => {
    const [command, environment] = ['cmdline', 'environ'].map((file) => read(pid, file).split('\0').slice(0, -1))
    const env = Object.fromEntries((environment ?? []).map((entry) => entry.split(/=(.*)/s).slice(0, 2)))
    return { pid, command: command ?? [], env: env as NodeJS.ProcessEnv }
  })
  const machineOf = ({ env }: { env: NodeJS.ProcessEnv }) => env['SHOAL_TEST_MACHINE']
  const firsts = processes.filter(({ command }) => command[1] === 'pause')
  return processes.flatMap((process) => {
    const { pid, command, env } = process
    const first = firsts.find((candidate) => machineOf(candidate) === machineOf(process))
    if (command[0] !== insideKube || !first) return []
    return [
      { name: command[1] ?? '', pid, command, env, machinePid: first.pid, log: readlinkSync(`/proc/${pid}/fd/1`) },
    ]
  })
}

/** Starts a part in its machine, whose end ends it. */
function start({ command, machinePid, env, log }: Part): void {
  const output = openSync(log, 'a')
  const args = ['--target', String(machinePid), '--mount', '--pid', '--net', '--', ...command]
  spawn('nsenter', args, { detached: true, stdio: ['ignore', output, output], env }).unref()
  closeSync(output)
}

/** Returns an empty string for a process that has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
