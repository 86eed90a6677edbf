import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Deployer } from './support/deployer.ts'
import { type Bench, atMost } from './support/result.ts'
import { copyExample } from './support/squid.ts'

const versions = 20
const settleMs = 30_000
const measuredMs = 60_000
/** The intervals at which the server probes processors and apis (`server/src/modules/observing/observe.ts`). */
const [processorsMs, apisMs] = [3_000, 5_000]

/** The unit of times in /proc (`USER_HZ`), which is the same on all Linux systems. */
const ticksPerSecond = 100

function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1024
}

function cpuSeconds(pid: number): number {
  // The numbers follow the program's name, which is in parentheses and may contain any character.
  const numbers = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(numbers[11]) + Number(numbers[12])) / ticksPerSecond
}

/** Returns the pid that the active worker has recorded. In this benchmark, one process has all roles. */
function serverPid(dataDir: string): number {
  return (JSON.parse(readFileSync(join(dataDir, 'locks/worker.json'), 'utf8')) as { pid: number }).pid
}

export const bench: Bench = {
  name: 'idle',
  async *run() {
    const deployer = await Deployer.start('http://127.0.0.1:8545', { SHOAL_RUNTIME: 'sim' })
    try {
      const squid = copyExample()
      for (let version = 1; version <= versions; version++) await deployer.deploy(squid, `v${version}`)
      const server = serverPid(deployer.shoal.dataDir)
      const baselineFile = join(import.meta.dirname, 'support/probe-baseline.ts')
      const baselineProgram = spawn(process.execPath, [baselineFile, ...[versions, processorsMs, apisMs].map(String)])
      const baseline = baselineProgram.pid ?? 0
      await delay(settleMs)
      const before = [server, baseline].map(cpuSeconds)
      await delay(measuredMs)
      const [ofServer = 0, ofBaseline = 0] = [server, baseline].map(
        (pid, index) => cpuSeconds(pid) - (before[index] ?? 0),
      )
      baselineProgram.kill()
      yield atMost(250, `idle, memory with ${versions} versions`, residentMb(server), 'MB')
      const percentOfCore = (ofServer / (measuredMs / 1000)) * 100
      console.error(`  CPU of the server: ${percentOfCore.toFixed(1)} % of a core`)
      yield atMost(
        10,
        `idle, CPU with ${versions} versions relative to their probes alone`,
        ofServer / ofBaseline,
        'ratio',
      )
    } finally {
      await deployer.end()
    }
  },
}
