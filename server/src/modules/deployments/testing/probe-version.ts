import { setTimeout as sleep } from 'node:timers/promises'
import { apiPort, isProcessor, probeApi, selectSquid, workloadIdOf } from '../../squids/index.ts'
import type { DeployApp } from './deploy-app.ts'

/** What a user of the version would have noticed meanwhile. */
export type Noticed = { answers: number; refusals: number; mostWriters: number }

/** Asks the version all the time `work` takes, as the gateway leads there, and counts how many generations write at once. */
export async function probeWhile(t: DeployApp, squidId: number, work: () => Promise<void>): Promise<Noticed> {
  const noticed: Noticed = { answers: 0, refusals: 0, mostWriters: 0 }
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

async function probeOnce(t: DeployApp, squidId: number, noticed: Noticed): Promise<void> {
  const generation = (await selectSquid(t.app.db, squidId))?.generation ?? 0
  const endpoint = t.runtime.directory.endpoint(workloadIdOf(squidId, generation), 'api', apiPort)
  if (endpoint && (await probeApi(endpoint)) === null) noticed.answers++
  else noticed.refusals++
  const writers = (await t.runtime.observe()).filter(
    (o) => o.workload.startsWith(`${squidId}.`) && isProcessor({ name: o.container }) && o.state === 'running',
  )
  noticed.mostWriters = Math.max(noticed.mostWriters, new Set(writers.map((o) => o.workload)).size)
}
