import { setTimeout as sleep } from 'node:timers/promises'
import { apiPort, isProcessor, workloadIdOf } from '../../manifest/index.ts'
import { probeApi } from '../../observing/probing/probe.ts'
import { selectSquid } from '../../versions/index.ts'
import type { DeployApp } from './deploy-app.ts'

/** What a user of the version would have noticed meanwhile. */
export type ProbeResult = { answers: number; refusals: number; maxWriters: number }

/** Asks the version all the time `work` takes, as the gateway leads there, and counts how many generations write at once. */
export async function probeWhile(t: DeployApp, squidId: number, work: () => Promise<void>): Promise<ProbeResult> {
  const noticed: ProbeResult = { answers: 0, refusals: 0, maxWriters: 0 }
  const done = new AbortController()
  const probing = (async () => {
    while (!done.signal.aborted) {
      await probeOnce(t, squidId, noticed)
      await sleep(2)
    }
  })()
  try {
    await work()
  } finally {
    done.abort()
    await probing
  }
  return noticed
}

async function probeOnce(t: DeployApp, squidId: number, noticed: ProbeResult): Promise<void> {
  const generation = (await selectSquid(t.app.db, squidId))?.generation ?? 0
  const endpoint = t.runtime.directory.endpoint(workloadIdOf(squidId, generation), 'api', apiPort)
  if (endpoint && (await probeApi(endpoint)) === null) noticed.answers++
  else noticed.refusals++
  const writers = (await t.runtime.observe()).filter(
    (o) => o.workload.startsWith(`${squidId}.`) && isProcessor({ name: o.container }) && o.state === 'running',
  )
  noticed.maxWriters = Math.max(noticed.maxWriters, new Set(writers.map((o) => o.workload)).size)
}
