import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Workload } from '../../../runtime/src/driver.ts'
import { type Host, prepareHost } from '../../../runtime/src/process/host.ts'
import { createProcessRuntime } from '../../../runtime/src/process/process-driver.ts'

/** Prints the time in nanoseconds, and ends. */
export const printTime = ['date', '+%s%N']

/** A host and its runtime. Programs have their own networks or share the network of the host. */
export type BenchHost = {
  host: Host
  stateDir: string
  /** Starts the only program of a version, which must first print the time. Resolves with the milliseconds from the request until then. */
  start: (id: string, command: string[]) => Promise<number>
  remove: (id: string) => Promise<void>
  /** Returns the ids of the versions whose program runs. */
  running: () => Promise<string[]>
  end: () => Promise<void>
}

/** Prepares a host in a new directory. `ports`: the ports of the host that programs may reach. */
export async function openBenchHost(network: 'auto' | 'none', ports: number[]): Promise<BenchHost> {
  const dir = mkdtempSync(join(tmpdir(), 'network-'))
  chmodSync(dir, 0o711)
  const options = { stateDir: join(dir, 'state'), imagesDir: join(dir, 'images') }
  const appDir = join(options.imagesDir, 'image/app')
  mkdirSync(appDir, { recursive: true })
  const nodeBinDir = dirname(process.execPath)
  writeFileSync(join(appDir, '../image.json'), JSON.stringify({ nodeBinDir, toolchainBinDir: nodeBinDir, sdk: null }))
  const targets = { squid: ports.map((port) => ({ host: '127.0.0.1', port })), build: [] }
  const host = await prepareHost({ stateDir: options.stateDir, network, targets })
  const runtime = createProcessRuntime({ ...options, host })
  await runtime.start()
  return {
    host,
    stateDir: host.stateDir,
    start: async (id, command) => {
      const program: Workload['containers'][number] = {
        name: 'init',
        command,
        env: {},
        resources: { cpuCores: 1, memoryBytes: 2 ** 28 },
        restart: 'never',
        ports: [],
        stopGraceMs: 1_000,
      }
      const requestedAt = performance.timeOrigin + performance.now()
      await runtime.apply({ id, tenant: 'bench', version: id, image: 'image', containers: [program] })
      for (;;) {
        const [line] = await runtime.tail(id, 'init', 1)
        if (line) return Number(line) / 1e6 - requestedAt
        await delay(5)
      }
    },
    remove: (id) => runtime.remove(id),
    running: async () =>
      (await runtime.observe()).filter(({ state }) => state === 'running').map(({ workload }) => workload),
    end: async () => {
      await runtime.close('stop')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
