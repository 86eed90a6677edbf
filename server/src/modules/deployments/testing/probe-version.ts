import { setTimeout as sleep } from 'node:timers/promises'
import { workloadIdOf } from '../../manifest/index.ts'
import { apiPort, isProcessor } from '../../containers.ts'
import { requestApi } from '../../observing/probing/probe.ts'
import { selectSquid } from '../../versions/index.ts'
import type { DeployApp } from './deploy-app.ts'

/**
 * The number of responses and failures of a version's endpoint, and the maximum number of generations whose processors ran at the same
 * time.
 */
export type ProbeResult = { responses: number; failures: number; maxWriters: number }

/** Queries the version throughout `work`, at the endpoint that the gateway would use. */
export async function probeWhile(t: DeployApp, squidId: number, work: () => Promise<void>): Promise<ProbeResult> {
  const result: ProbeResult = { responses: 0, failures: 0, maxWriters: 0 }
  const done = new AbortController()
  const probing = (async () => {
    while (!done.signal.aborted) {
      await probeOnce(t, squidId, result)
      await sleep(2)
    }
  })()
  try {
    await work()
  } finally {
    done.abort()
    await probing
  }
  return result
}

async function probeOnce(t: DeployApp, squidId: number, result: ProbeResult): Promise<void> {
  const generation = (await selectSquid(t.app.db, squidId))?.generation ?? 0
  const endpoint = t.runtime.directory.endpoint(workloadIdOf(squidId, generation), 'api', apiPort)
  if (endpoint && (await requestApi(endpoint)).problem === null) result.responses++
  else result.failures++
  const writers = (await t.runtime.observe()).filter(
    (o) => o.workload.startsWith(`${squidId}.`) && isProcessor({ name: o.container }) && o.state === 'running',
  )
  result.maxWriters = Math.max(result.maxWriters, new Set(writers.map((o) => o.workload)).size)
}
