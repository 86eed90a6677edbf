import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** The environment variable that marks the processes of machines. */
const mark = 'SHOAL_TEST_MACHINE'

/** The folder with the cluster's files inside each machine. */
export const insideFolder = '/run/shoal-cluster'
export const insidePki = `${insideFolder}/pki`
export const insideNode = `${insideFolder}/node`
export const insideKube = `${insideFolder}/programs/kube`
export const insideDebian = `${insideFolder}/debian`

/**
 * A machine of the test cluster: namespaces for its network, mounts and processes. Its first process ends with the process that started
 * it. The kernel then ends the namespaces and everything in them.
 */
export class Machine {
  readonly name: string
  readonly #logs: string
  #process: ChildProcess | null = null
  #firstPid: number | null = null
  readonly #endedParts: string[] = []

  /** @param logs the folder for the logs of the machine's parts */
  constructor(name: string, logs: string) {
    this.name = name
    this.#logs = logs
  }

  /** Starts the machine. `pod`: the program that becomes its first process. `mounts`: folders of the host, by their path in the machine. */
  async start(pod: string, mounts: Record<string, string>): Promise<void> {
    const unshare = [
      'unshare',
      '--mount',
      '--pid',
      '--net',
      '--fork',
      '--kill-child',
      '--mount-proc',
      '--propagation',
      'private',
    ]
    const args = ['--pdeathsig', 'KILL', ...unshare, pod, 'pause']
    mkdirSync(this.#logs, { recursive: true })
    this.#process = spawn('setpriv', args, { detached: true, stdio: 'ignore', env: this.#environment() })
    this.#firstPid = await this.#untilStarted(pod)
    this.run('sh', ['-e', '-c', mountScript(mounts)])
  }

  /** The process id of the machine's first process on the host. */
  get pid(): number {
    if (this.#firstPid === null) throw new Error(`The machine ${this.name} was not started`)
    return this.#firstPid
  }

  /** Runs a command in the machine. @throws with its output if it fails */
  run(file: string, args: string[], input = ''): string {
    return runProgram('nsenter', this.#enter(file, args), input)
  }

  /** Starts a part of the cluster in the machine, with its own log. */
  startPart(part: string, file: string, args: string[], env: NodeJS.ProcessEnv = {}): void {
    const log = openSync(join(this.#logs, `${this.name}-${part}.log`), 'a')
    const command = ['--pdeathsig', 'KILL', 'nsenter', ...this.#enter(file, args)]
    const environment = { ...this.#environment(), ...env }
    const started = spawn('setpriv', command, { detached: true, stdio: ['ignore', log, log], env: environment })
    closeSync(log)
    started.once('exit', () => this.#endedParts.push(`${this.name}-${part}`))
  }

  /** Returns the names of the parts that have ended, which are also those of their logs. */
  get endedParts(): readonly string[] {
    return this.#endedParts
  }

  #enter(file: string, args: string[]): string[] {
    // `ip netns exec` would mount /sys again, so that kubelet would find no cgroups.
    return ['--target', String(this.pid), '--mount', '--pid', '--net', '--', file, ...args]
  }

  #environment(): NodeJS.ProcessEnv {
    return { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/', [mark]: this.name }
  }

  async #untilStarted(pod: string): Promise<number> {
    const parent = this.#process?.pid
    while (this.#process?.exitCode === null && this.#process.signalCode === null) {
      const first = processesOfMachines().find((pid) => parentOf(pid) === parent && programOf(pid) === pod)
      if (first) return first
      await delay(10)
    }
    throw new Error(`The machine ${this.name} did not start: unshare ended with ${this.#process?.exitCode}`)
  }
}

/** Returns shell commands that mount folders. Parts write to some folders regardless of their settings, so each machine has its own, and nothing remains on the host. */
function mountScript(mounts: Record<string, string>): string {
  const inside = (path: string, from: string) => `mkdir -p ${path}; mount --bind '${from}' ${path}`
  return [
    // Volumes that kubelet mounts must propagate to the namespaces of containers.
    'mount --make-rshared /',
    'mount -t tmpfs tmpfs /run',
    ...Object.entries(mounts).map(([path, from]) => inside(path, from)),
    'mount -t tmpfs tmpfs /var/log',
    'mount -t tmpfs tmpfs /var/lib',
    `for disk in ${insideNode}/disk/*; do if [ -d "$disk" ]; then`,
    'folder=/var/lib/$(basename "$disk"); mkdir "$folder"; mount --bind "$disk" "$folder"; fi; done',
    // kubelet changes these kernel settings, which machines share with the host. Files with the values that it expects prevent that.
    'for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do',
    'file=/run/$(basename "${setting%=*}"); echo "${setting#*=}" > "$file"; mount --bind "$file" "/proc/sys/${setting%=*}"; done',
  ].join('\n')
}

/** Returns the ids of the processes of all machines, in ascending order, even of machines whose starting process was killed. */
export function processesOfMachines(): number[] {
  const pids = readdirSync('/proc')
    .map(Number)
    .filter(Number.isInteger)
    .toSorted((a, b) => a - b)
  return pids.filter((pid) =>
    readProc(pid, 'environ')
      .split('\0')
      .some((entry) => entry.startsWith(`${mark}=`)),
  )
}

/**
 * Returns the process id on this host of the first process of the machine `name`, which ends last.
 * @throws if this host has no such machine
 */
export function firstProcessOf(name: string): number {
  const isFirst = (pid: number) =>
    readProc(pid, 'environ').split('\0').includes(`${mark}=${name}`) &&
    // The ids of the process in this host's namespace and in the machine's; a process of a container has a third.
    /^NSpid:\t\d+\t1$/m.test(readProc(pid, 'status'))
  const first = processesOfMachines().find(isFirst)
  if (first === undefined) throw new Error(`This host has no machine ${name}`)
  return first
}

/** Kills all machines, and returns when their parts have ended. Programs in pods may end a moment later. */
export function endMachines(): void {
  const deadline = performance.now() + 10_000
  for (;;) {
    const pids = processesOfMachines()
    if (pids.length === 0) return
    if (performance.now() > deadline) throw new Error(`Processes of machines cannot be killed: ${pids.join(', ')}`)
    for (const pid of pids) kill(pid)
    pauseSync(50)
  }
}

/** Blocks this process for `ms` milliseconds. */
export function pauseSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readProc(pid, 'status'))?.[1])
}

function programOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return ''
  }
}

/** Returns the text of a file in /proc; an empty string if the process has ended, even while it is a zombie. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** Runs a program to its end. @throws with its output if it fails */
export function runProgram(file: string, args: string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(file, args, { input, encoding: 'utf8', timeout: 30_000 })
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? ''}${stdout}${stderr}`)
  return stdout
}
