import type { ContainerSpec, Endpoint, LastRun, Observation, Workload } from '@shoal/runtime'
import { apiPort, isApi, isInit, metricsPort } from '../manifest/index.ts'
import { requestApi, requestContainer, hasFinished, isCrash, type ApiProbe } from '../observing/index.ts'
import { minutes } from '../../clock.ts'
import { DeployFailure } from './failure.ts'
import type { StepContext } from './step.ts'
import { until } from './wait.ts'
import { createWaitReport, sentenceOf, showLastLines, type Awaited, type WaitReport } from './wait-report.ts'

const tailLines = 50
/** A program is given up at this end alike, by exit code and cause: before that, a peer may just not be there yet. */
const endsAlike = 2
const mend = 'Mend it and deploy again.'
const readinessTimeoutMs = minutes(5)

/** Waits for the end of `init`. @throws DeployFailure when it fails */
export async function waitForInit(context: StepContext, workload: Workload): Promise<void> {
  const { intervals, signal } = context
  const report = createWaitReport(context)
  await until(
    async () => {
      const init = (await context.engine.snapshots()).of(workload.id).find((o) => isInit({ name: o.container }))
      if (init?.state === 'failed' || (init?.state === 'finished' && init.lastRun?.how !== 'done'))
        throw await crashFailure(context, init, 'Mend what it does, usually a migration, and deploy again.')
      if (init?.state === 'finished') return init
      if (init) await report.about([awaitedOf(init, init.state === 'running' ? 'It runs.' : 'It is starting.')])
      return null
    },
    intervals.pollMs,
    signal,
  )
}

/** Waits until every api replica answers. @throws DeployFailure when one cannot be made to */
export async function waitForApis(context: StepContext, workload: Workload): Promise<void> {
  const apis = workload.containers.filter(isApi)
  if (apis.length > 0) await waitUntilHealthy(context, workload, apis, 0)
}

/**
 * Waits until every api replica answers and every processor runs or has finished its work, all of them for a while: many a
 * program shows its metrics or answers once, and falls over its first batch or query.
 * @throws DeployFailure when one does not
 */
export async function waitForAll(context: StepContext, workload: Workload, healthyForMs: number): Promise<void> {
  await waitUntilHealthy(
    context,
    workload,
    workload.containers.filter((c) => !isInit(c)),
    healthyForMs,
  )
}

/** One run of a program: since when it was seen, and since when it answers. */
type ProgramRun = { id: string | undefined; sinceMs: number; answersSinceMs: number | null }

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
  const giveUpAtMs = app.clock.now().getTime() + readinessTimeoutMs
  await until(
    async () => {
      const observations = (await engine.snapshots()).of(workload.id)
      const states = await Promise.all(
        containers.map(async ({ name }) => {
          const o = observations.find((x) => x.container === name)
          if (o) return await awaitedWith(context, o, { runs, ends, report, healthyForMs })
          return { workload: workload.id, container: name, is: 'It does not exist yet.', answer: null }
        }),
      )
      const awaited = states.filter((state) => state !== null)
      if (awaited.length === 0) return 'steady'
      if (app.clock.now().getTime() >= giveUpAtMs) throw await givenUp(context, awaited)
      await report.about(awaited)
      return null
    },
    intervals.pollMs,
    signal,
  )
}

async function givenUp(context: StepContext, awaited: Awaited[]): Promise<DeployFailure> {
  for (const one of awaited) await showLastLines(context, one, tailLines)
  const sentences = await Promise.all(awaited.map((one) => sentenceOf(context, one)))
  return new DeployFailure(
    'REQUIREMENTS',
    `${sentences.join(' ')} It was given ${readinessTimeoutMs / 60_000} minutes.`,
  )
}

/** `ends`: ids of the runs that crashed, by container and how they ended. */
type Waiting = {
  runs: Map<string, ProgramRun>
  ends: Map<string, Set<string>>
  report: WaitReport
  healthyForMs: number
}

/** What is still awaited of a container; null when it is steady. @throws DeployFailure */
async function awaitedWith(
  context: StepContext,
  o: Observation,
  { runs, ends, report, healthyForMs }: Waiting,
): Promise<Awaited | null> {
  const api = isApi({ name: o.container })
  // A processor with a last block may have done its work (contract 4.1). Where its chain is, the observing worker knows.
  if (o.state === 'finished' && !api) {
    await report.ended(o, `${o.container} has ended with exit code ${o.lastRun?.exitCode ?? 'unknown'}.`)
    // In a new generation every run before the last one has crashed.
    const { workload, container, lastRun } = o
    const ended = { workload, container, crashesInARow: lastRun?.ordinal ?? 0 }
    const isDone = await hasFinished(context.app.runtime, ended, () => false)
    return isDone ? null : awaitedOf(o, 'It has ended and is started again.')
  }
  if (o.state === 'failed') throw await crashFailure(context, o, 'Check its command in the manifest.')
  if (o.lastRun && isCrash(o.lastRun.how)) {
    await failIfCrashing(context, o, alike(ends, o.container, o.lastRun))
    await report.ended(o, `${o.container} ${exitMessage(o)}. It is started again.`)
  }
  if (o.state === 'backoff') return awaitedOf(o, 'It has crashed and is started again.')
  if (o.state !== 'running') return awaitedOf(o, 'It is starting.')
  const nowMs = context.app.clock.now().getTime()
  const known = runs.get(o.container)
  const id = o.run?.id
  const run: ProgramRun = known && known.id === id ? known : { id, sinceMs: nowMs, answersSinceMs: null }
  runs.set(o.container, run)
  if (!api && nowMs - run.sinceMs >= context.intervals.minUptimeMs) return null
  const endpoint = context.app.directory.endpoint(o.workload, o.container, api ? apiPort : metricsPort)
  const { fault, answer } =
    endpoint === null ? noEndpoint : await (api ? requestApi(endpoint) : requestMetrics(endpoint))
  if (fault !== null) {
    run.answersSinceMs = null
    return { ...awaitedOf(o, fault), answer }
  }
  run.answersSinceMs ??= nowMs
  return nowMs - run.answersSinceMs >= healthyForMs ? null : awaitedOf(o, 'It answers; it has to do so for a while.')
}

const awaitedOf = ({ workload, container }: Observation, is: string): Awaited => ({
  workload,
  container,
  is,
  answer: null,
})

/** How many runs of the container have ended as this one did. */
function alike(ends: Map<string, Set<string>>, container: string, { id, exitCode, how }: LastRun): number {
  const key = `${container} ${exitCode} ${how}`
  const runs = ends.get(key) ?? new Set()
  ends.set(key, runs.add(id))
  return runs.size
}

const noEndpoint: ApiProbe = { fault: 'It cannot be reached.', answer: null }

/** Whatever they say: the programs of other SDKs say it in other words. */
const requestMetrics = (endpoint: Endpoint): Promise<ApiProbe> =>
  requestContainer(endpoint, { method: 'GET', path: '/metrics', timeoutMs: 2_000 }).then(
    () => ({ fault: null, answer: null }),
    () => ({ fault: 'It runs, but its metrics do not answer yet.', answer: null }),
  )

/** @throws DeployFailure */
async function failIfCrashing(context: StepContext, o: Observation, times: number): Promise<void> {
  if (times < endsAlike) return
  const hasReturned = isApi({ name: o.container }) && o.lastRun?.exitCode === 0
  throw await crashFailure(context, o, hasReturned ? 'It must keep running to answer requests.' : mend)
}

/** What is told of a container that does not do: its last lines in the log, then the sentence that ends it. */
async function crashFailure(context: StepContext, o: Observation, advice: string): Promise<DeployFailure> {
  await showLastLines(context, o, tailLines)
  return new DeployFailure('REQUIREMENTS', `${o.container} ${exitMessage(o)}. ${advice}`)
}

function exitMessage(o: Observation): string {
  const { how, exitCode = null, ordinal = 0 } = o.lastRun ?? {}
  if (how === 'oom')
    return 'was killed because it used more memory than its profile has; choose a larger one under `scale` in the manifest'
  if (o.state === 'failed') return `cannot be started${o.reason ? `: ${o.reason.replace(/\.$/, '')}` : ''}`
  const times = ordinal > 0 ? `, the last of ${ordinal + 1} tries` : ''
  const although = exitCode === 0 && !isApi({ name: o.container }) ? ' although its chain goes on' : ''
  return `ended with exit code ${exitCode ?? 'unknown'}${although}${times}`
}
