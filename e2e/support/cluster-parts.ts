import { spawn } from 'node:child_process'
import { closeSync, cpSync, openSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { insideKube, processesOfMachines } from '../../scripts/kubernetes/machine.ts'
import { hasOwnNodes } from './cluster-nodes.ts'
import { tryKubectl } from './kubernetes.ts'
import { until } from './until.ts'

/** True if the parts of the cluster (etcd, the API server, kubelets and so on) are processes of this host, so that a test can end and start them. */
export const hasOwnParts = hasOwnNodes

/** The process of a part, with what is needed to start it again. `machine`: `control`, or the name of a node. */
type Part = {
  name: string
  machine: string
  pid: number
  command: string[]
  machinePid: number
  env: NodeJS.ProcessEnv
  log: string
}

const etcdFolder = () => join(dirname(dirname(process.env['SHOAL_TEST_KUBECONFIG'] ?? '')), 'etcd')

/** Copies the current data of etcd to a folder, which must not exist. */
export function snapshotEtcd(to: string): void {
  const etcd = runningParts().find(({ name }) => name === 'etcd')
  if (!etcd) throw new Error('No etcd runs on this host')
  // Because etcd is paused while its data is copied, the copy is consistent: etcd recovers from it as after a crash.
  process.kill(etcd.pid, 'SIGSTOP')
  try {
    cpSync(etcdFolder(), to, { recursive: true })
  } finally {
    process.kill(etcd.pid, 'SIGCONT')
  }
}

/** Kills all parts of the cluster, replaces the data of etcd with the copy in the folder `from`, and starts the parts again. Pods keep running. */
export async function restoreEtcd(from: string): Promise<void> {
  const parts = runningParts()
  for (const { pid } of parts) process.kill(pid, 'SIGKILL')
  await until(() => runningParts().length === 0, 'all parts have ended')
  // The folder itself must stay, because the namespaces in which etcd runs have mounted it.
  for (const entry of readdirSync(etcdFolder())) rmSync(join(etcdFolder(), entry), { recursive: true })
  cpSync(from, etcdFolder(), { recursive: true })
  const isFirst = ({ name }: Part) => ['etcd', 'kube-apiserver'].includes(name)
  for (const part of parts.filter(isFirst)) start(part)
  const isReady = async () => (await tryKubectl(['get', '--raw', '/readyz'])).output === 'ok'
  await until(isReady, 'the API server is ready')
  for (const part of parts.filter((candidate) => !isFirst(candidate))) start(part)
  const nodes = ['wait', 'nodes', '--all', '--for=condition=Ready', '--timeout=50s']
  await until(async () => (await tryKubectl(nodes)).code === 0, 'the nodes are ready')
}

/**
 * Kills the part `name` of a machine, such as `kubelet` on the node `n1` or `kube-apiserver` on `control`. Everything else on the machine
 * keeps running. Returns a function that starts the part again; the end of the test does that too.
 */
export function killPart(name: string, machine: string): () => void {
  const part = runningParts().find((candidate) => candidate.name === name && candidate.machine === machine)
  if (!part) throw new Error(`No ${name} runs on ${machine}`)
  process.kill(part.pid, 'SIGKILL')
  let isKilled = true
  const startAgain = () => {
    if (isKilled) start(part)
    isKilled = false
  }
  onTestFinished(startAgain)
  return startAgain
}

/** Returns the running parts of the cluster, in the order of their process ids. */
function runningParts(): Part[] {
  const processes = processesOfMachines().map((pid) => {
    const [command, environment] = ['cmdline', 'environ'].map((file) => read(pid, file).split('\0').slice(0, -1))
    const env = Object.fromEntries((environment ?? []).map((entry) => entry.split(/=(.*)/s).slice(0, 2)))
    return { pid, command: command ?? [], env: env as NodeJS.ProcessEnv }
  })
  const machineOf = ({ env }: { env: NodeJS.ProcessEnv }) => env['SHOAL_TEST_MACHINE']
  // The first process of each machine runs `pause`.
  const firstProcesses = processes.filter(({ command }) => command[1] === 'pause')
  return processes.flatMap((process) => {
    const { pid, command, env } = process
    const first = firstProcesses.find((candidate) => machineOf(candidate) === machineOf(process))
    if (command[0] !== insideKube || !first) return []
    const [name = '', machine = ''] = [command[1], machineOf(process)]
    return [{ name, machine, pid, command, env, machinePid: first.pid, log: readlinkSync(`/proc/${pid}/fd/1`) }]
  })
}

/** Starts a part in its machine. The part ends with the machine. */
function start({ command, machinePid, env, log }: Part): void {
  const output = openSync(log, 'a')
  const args = ['--target', String(machinePid), '--mount', '--pid', '--net', '--', ...command]
  spawn('nsenter', args, { detached: true, stdio: ['ignore', output, output], env }).unref()
  closeSync(output)
}

/** Returns the text of a process's file in /proc; an empty string if the process has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
