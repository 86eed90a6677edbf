import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, fetch } from 'undici'
import { freePort } from '../../e2e/support/free-port.ts'
import { apiServerArgs, etcdArgs, writeCertificates } from './control-plane.ts'

export type ApiServer = {
  url: string
  /** Path of the administrator's kubeconfig. */
  kubeconfig: string
  /** The folder of the files of this cluster, and in it that of the certificates and kubeconfigs. */
  folder: string
  pki: string
  /** The processes of the API server and its etcd, for tests that stop them. */
  processes: { apiServer: ChildProcess; etcd: ChildProcess }
  /** Starts another program of this cluster, which `end` ends, too. */
  startPart: (program: string, args: string[]) => ChildProcess
  /** Returns the end of the log of all programs. */
  readLog: () => string
  end(): Promise<void>
}

const readyTimeoutMs = 60_000
/** No controller creates service accounts, without which the API server would reject pods. */
const withoutControllers = () => ['--disable-admission-plugins=ServiceAccount']

/**
 * Starts etcd and an API server on free loopback ports, for tests of objects and watches. No node runs pods. Does not need root. Both
 * processes end with this one, even if it is killed.
 * @param kube the program built from `test/kube`
 * @param extraArgs returns more arguments of the API server, and may write the files that they name into the folder of the cluster
 * @throws with the end of the log if it is not ready within a minute
 */
export async function startApiServer(
  kube: string,
  extraArgs: (folder: string) => string[] = withoutControllers,
): Promise<ApiServer> {
  const folder = mkdtempSync(join(tmpdir(), 'kube-'))
  const [port, clientPort, peerPort] = [await freePort(), await freePort(), await freePort()]
  const url = `https://127.0.0.1:${port}`
  const etcdUrl = `http://127.0.0.1:${clientPort}`
  const pki = join(folder, 'pki')
  writeCertificates(kube, pki, url)
  const parts: ChildProcess[] = []
  const startPart = (program: string, args: string[]) => {
    const part = start(program, args, folder)
    parts.push(part)
    return part
  }
  const etcd = startPart(kube, etcdArgs(join(folder, 'etcd'), etcdUrl, `http://127.0.0.1:${peerPort}`))
  const args = [...apiServerArgs(pki, etcdUrl, '127.0.0.1', port), '--bind-address=127.0.0.1', ...extraArgs(folder)]
  const apiServer = startPart(kube, args)
  const readLog = () => readFileSync(join(folder, 'log'), 'utf8').trim().slice(-2000)
  const end = async () => {
    await Promise.all(parts.map(endProcess))
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await untilReady(url, readFileSync(join(pki, 'ca.crt')), [etcd, apiServer])
  } catch (error) {
    const log = readLog()
    await end()
    throw new Error(`The API server did not start: ${(error as Error).message}\n${log}`, { cause: error })
  }
  const kubeconfig = join(pki, 'admin.conf')
  return { url, kubeconfig, folder, pki, processes: { apiServer, etcd }, startPart, readLog, end }
}

function start(program: string, args: string[], folder: string): ChildProcess {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const log = createWriteStream(join(folder, 'log'), { flags: 'a' })
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false })
  return child
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

async function untilReady(url: string, ca: Buffer, processes: ChildProcess[]): Promise<void> {
  const dispatcher = new Agent({ connect: { ca } })
  const deadline = performance.now() + readyTimeoutMs
  const isReady = async () => {
    try {
      return (await fetch(`${url}/readyz`, { dispatcher, signal: AbortSignal.timeout(5000) })).ok
    } catch {
      return false
    }
  }
  try {
    while (!(await isReady())) {
      if (processes.some(({ exitCode }) => exitCode !== null)) throw new Error('etcd or the API server ended')
      if (performance.now() > deadline) throw new Error('it was not ready within a minute')
      await delay(100)
    }
  } finally {
    await dispatcher.destroy()
  }
}
