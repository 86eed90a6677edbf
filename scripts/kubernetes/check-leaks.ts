import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../root.ts'
import { differences, readHostState } from './host-state.ts'
import { runProgram } from './machine.ts'
import { podImage } from './node.ts'

/** The ways in which a cluster ends: by Ctrl-C or a kill, while it starts or when it runs a pod. */
const endings = ['Ctrl-C', 'Ctrl-C while it starts', 'kill', 'kill while it starts'] as const

const settleMs = 20_000
const maxStartMs = 8000

/**
 * Starts and ends clusters in each of the four ways in turn, and compares the state of the host before and after. After a kill, it first
 * starts another cluster, which removes what the killed one left. Prints a line for each cluster.
 * @returns the number of clusters that left something
 */
export async function checkLeaks(cycles: number): Promise<number> {
  let failed = 0
  for (let cycle = 0; cycle < cycles; cycle++) {
    const before = readHostState()
    const ending = endings[cycle % endings.length] ?? 'Ctrl-C'
    const durations = await runCycle(ending)
    if (ending.startsWith('kill')) await runCycle('Ctrl-C')
    const found = await untilEqual(before)
    if (found.length > 0) failed++
    console.log(`${found.length === 0 ? '✓' : '✗'} ${cycle + 1} ${ending} (${durations})`)
    for (const difference of found) console.log(`  ${difference}`)
  }
  return failed
}

/** Starts a cluster, and ends it in this way. Returns how long the start and the end took, in words. */
async function runCycle(ending: (typeof endings)[number]): Promise<string> {
  const started = performance.now()
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1)
  const cluster = spawn(process.execPath, ['scripts/cluster.ts'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => cluster.once('exit', () => resolve()))
  if (ending.endsWith('starts')) await delay(Math.random() * maxStartMs)
  else runPod(await environmentOf(cluster))
  const startSeconds = seconds()
  cluster.kill(ending.startsWith('kill') ? 'SIGKILL' : 'SIGINT')
  await ended
  return `started for ${startSeconds} s, ended within ${seconds()} s`
}

/** Reads the environment variables that a cluster prints. @throws if it does not start */
async function environmentOf(cluster: ChildProcess): Promise<Record<string, string>> {
  let output = ''
  for await (const chunk of cluster.stdout ?? []) {
    output += String(chunk)
    // The cluster prints these variables in the last line of its output.
    if (output.includes('HOST_ADDRESS')) break
  }
  const exports = [...output.matchAll(/^export (\w+)='(.*)'$/gm)]
  if (exports.length === 0) throw new Error('The cluster did not start')
  return Object.fromEntries(exports.map(([, name = '', value = '']) => [name, value]))
}

function runPod({ SHOAL_TEST_KUBE = '', SHOAL_TEST_KUBECONFIG = '' }: Record<string, string>): void {
  const kubectl = ['kubectl', '--kubeconfig', SHOAL_TEST_KUBECONFIG]
  runProgram(SHOAL_TEST_KUBE, [...kubectl, 'run', 'one', `--image=${podImage}`, '--', 'serve', '8080'])
  runProgram(SHOAL_TEST_KUBE, [...kubectl, 'wait', '--for=condition=Ready', '--timeout=60s', 'pod/one'])
}

/** Waits until the state of the host is the same as before, since the kernel removes namespaces some time after their last process. Returns the differences that remain. */
async function untilEqual(before: ReturnType<typeof readHostState>): Promise<string[]> {
  const deadline = performance.now() + settleMs
  for (;;) {
    const found = differences(before, readHostState())
    if (found.length === 0 || performance.now() > deadline) return found
    await delay(500)
  }
}
