import type { ContainerSpec, Endpoint, LastRun, Observation, Workload } from '@shoal/runtime'
import { apiPort, isApi, isInit, metricsPort } from '../manifest/index.ts'
import { requestApi, requestContainer, hasFinished, isCrash, type ApiProbe } from '../observing/index.ts'
import { minutes } from '../../clock.ts'
import { DeployFailure } from './failure.ts'
import type { StepContext } from './step.ts'
import { until } from './wait.ts'
import { createWaitReport, sentenceOf, showLastLines, type Awaited, type WaitReport } from './wait-report.ts'

const tailLines = 50
/** Runs with the same exit code and cause after which a program counts as failed. More than one, since a peer may not be up yet. */
const maxEqualEnds = 2
const fixAndRedeploy = 'Fix it and deploy again.'
const readinessTimeoutMs = minutes(5)

/** Waits for the end of `init`. @throws DeployFailure when it fails */
export async function waitForInit(context: StepContext, workload: Workload): Promise<void> {
  const { intervals, signal } = context
  const report = createWaitReport(context)
  await until(
    async () => {
      const init = (await context.engine.snapshots()).of(workload.id).find((o) => isInit({ name: o.container }))
      if (init?.state === 'failed' || (init?.state === 'finished' && init.lastRun?.how !== 'done'))
        throw await crashFailure(context, init, 'Fix it (usually a migration) and deploy again.')
      if (init?.state === 'finished') return init
      if (init) await report.about([awaitedOf(init, init.state === 'running' ? 'It is running.' : 'It is starting.')])
      return null
    },
    intervals.pollMs,
    signal,
  )
}

/** Waits until every api replica responds. @throws DeployFailure when one fails or does not respond in time */
export async function waitForApis(context: StepContext, workload: Workload): Promise<void> {
  const apis = workload.containers.filter(isApi)
  if (apis.length > 0) await waitUntilHealthy(context, workload, apis, 0)
}

/**
 * Waits until every api replica responds and every processor runs or has finished its work, all of them for `healthyForMs`:
 * many programs serve metrics or respond once, and crash on their first batch or query.
 * @throws DeployFailure when one fails or does not become healthy in time
 */
export async function waitForAll(context: StepContext, workload: Workload, healthyForMs: number): Promise<void> {
  await waitUntilHealthy(
    context,
    workload,
    workload.containers.filter((c) => !isInit(c)),
    healthyForMs,
  )
}

/** One run of a program: when it was first observed, and since when it responds. */
type ProgramRun = { id: string | undefined; sinceMs: number; respondsSinceMs: number | null }

/** @throws DeployFailure */
async function waitUntilHealthy(
  context: StepContext,
  workload: Workload,
  containers: ContainerSpec[],
  healthyForMs: number,
): Promise<void> {
  const { app, intervals, engine, signal } = context
  const runs = new Map<string, ProgramRun>()
  const ends = new Map<string, Set<string>>()
  const report = createWaitReport(context)
  const timeoutAtMs = app.clock.now().getTime() + readinessTimeoutMs
  await until(
    async () => {
      const observations = (await engine.snapshots()).of(workload.id)
      const states = await Promise.all(
        containers.map(async ({ name }) => {
          const o = observations.find((x) => x.container === name)
          if (o) return await checkContainer(context, o, { runs, ends, report, healthyForMs })
          return { workload: workload.id, container: name, is: 'It does not exist yet.', answer: null }
        }),
      )
      const awaited = states.filter((state) => state !== null)
      if (awaited.length === 0) return 'healthy'
      if (app.clock.now().getTime() >= timeoutAtMs) throw await timedOut(context, awaited)
      await report.about(awaited)
      return null
    },
    intervals.pollMs,
    signal,
  )
}

async function timedOut(context: StepContext, awaited: Awaited[]): Promise<DeployFailure> {
  for (const one of awaited) await showLastLines(context, one, tailLines)
  const sentences = await Promise.all(awaited.map((one) => sentenceOf(context, one)))
  return new DeployFailure(
    'REQUIREMENTS',
    `${sentences.join(' ')} Timed out after ${readinessTimeoutMs / 60_000} minutes.`,
  )
}

/** `ends`: ids of the runs that crashed, by container and how they ended. */
type ReadinessState = {
  runs: Map<string, ProgramRun>
  ends: Map<string, Set<string>>
  report: WaitReport
  healthyForMs: number
}

/** What a container is still missing; null when it is healthy. @throws DeployFailure */
async function checkContainer(
  context: StepContext,
  o: Observation,
  { runs, ends, report, healthyForMs }: ReadinessState,
): Promise<Awaited | null> {
  const api = isApi({ name: o.container })
  // A processor with a last block may have finished its work (contract 4.1). The observing worker knows its chain.
  if (o.state === 'finished' && !api) {
    await report.ended(o, `${o.container} ended with exit code ${o.lastRun?.exitCode ?? 'unknown'}.`)
    // In a new generation every run before the last one crashed.
    const { workload, container, lastRun } = o
    const ended = { workload, container, crashesInARow: lastRun?.ordinal ?? 0 }
    const isDone = await hasFinished(context.app.runtime, ended, () => false)
    return isDone ? null : awaitedOf(o, 'It ended and is being restarted.')
  }
  if (o.state === 'failed') throw await crashFailure(context, o, 'Check its command in the manifest.')
  if (o.lastRun && isCrash(o.lastRun.how)) {
    await failIfCrashing(context, o, countEqualEnds(ends, o.container, o.lastRun))
    await report.ended(o, `${o.container} ${exitMessage(o)}. It is being restarted.`)
  }
  if (o.state === 'backoff') return awaitedOf(o, 'It crashed and is being restarted.')
  if (o.state !== 'running') return awaitedOf(o, 'It is starting.')
  const nowMs = context.app.clock.now().getTime()
  const known = runs.get(o.container)
  const id = o.run?.id
  const run: ProgramRun = known && known.id === id ? known : { id, sinceMs: nowMs, respondsSinceMs: null }
  runs.set(o.container, run)
  if (!api && nowMs - run.sinceMs >= context.intervals.minUptimeMs) return null
  const endpoint = context.app.directory.endpoint(o.workload, o.container, api ? apiPort : metricsPort)
  const { fault, answer } =
    endpoint === null ? noEndpoint : await (api ? requestApi(endpoint) : requestMetrics(endpoint))
  if (fault !== null) {
    run.respondsSinceMs = null
    return { ...awaitedOf(o, fault), answer }
  }
  run.respondsSinceMs ??= nowMs
  return nowMs - run.respondsSinceMs >= healthyForMs ? null : awaitedOf(o, 'It responds, but not for long enough yet.')
}

const awaitedOf = ({ workload, container }: Observation, is: string): Awaited => ({
  workload,
  container,
  is,
  answer: null,
})

/** How many runs of the container ended like this one. */
function countEqualEnds(ends: Map<string, Set<string>>, container: string, { id, exitCode, how }: LastRun): number {
  const key = `${container} ${exitCode} ${how}`
  const runs = ends.get(key) ?? new Set()
  ends.set(key, runs.add(id))
  return runs.size
}

const noEndpoint: ApiProbe = { fault: 'It cannot be reached.', answer: null }

/** Any response counts: metric names differ between SDKs. */
const requestMetrics = (endpoint: Endpoint): Promise<ApiProbe> =>
  requestContainer(endpoint, { method: 'GET', path: '/metrics', timeoutMs: 2_000 }).then(
    () => ({ fault: null, answer: null }),
    () => ({ fault: 'It is running, but does not serve its metrics yet.', answer: null }),
  )

/** @throws DeployFailure */
async function failIfCrashing(context: StepContext, o: Observation, times: number): Promise<void> {
  if (times < maxEqualEnds) return
  const hasReturned = isApi({ name: o.container }) && o.lastRun?.exitCode === 0
  throw await crashFailure(context, o, hasReturned ? 'It must keep running to answer requests.' : fixAndRedeploy)
}

/** Logs the container's last lines, then returns the failure that ends the deployment. */
async function crashFailure(context: StepContext, o: Observation, advice: string): Promise<DeployFailure> {
  await showLastLines(context, o, tailLines)
  return new DeployFailure('REQUIREMENTS', `${o.container} ${exitMessage(o)}. ${advice}`)
}

function exitMessage(o: Observation): string {
  const { how, exitCode = null, ordinal = 0 } = o.lastRun ?? {}
  if (how === 'oom')
    return 'was killed because it used more memory than its profile allows; choose a larger profile under `scale` in the manifest'
  if (o.state === 'failed') return `cannot be started${o.reason ? `: ${o.reason.replace(/\.$/, '')}` : ''}`
  const times = ordinal > 0 ? `, the last of ${ordinal + 1} attempts` : ''
  const although = exitCode === 0 && !isApi({ name: o.container }) ? ' although its chain has more blocks' : ''
  return `ended with exit code ${exitCode ?? 'unknown'}${although}${times}`
}
