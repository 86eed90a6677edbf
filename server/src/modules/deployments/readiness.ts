import type { ContainerSpec, Endpoint, Observation, Workload } from '@shoal/runtime'
import { apiPort, askContainer, hasFinished, isApi, isInit, metricsPort, probeApi } from '../squids/index.ts'
import { minutes } from '../../clock.ts'
import { DeployFailure } from './failure.ts'
import type { StepContext } from './step.ts'
import { until } from './wait.ts'

const tailLines = 50
/** A program may crash this often before it is given up: a peer may just not be there yet. */
const crashesForgiven = 2
const mend = 'Mend it and deploy again.'
const patienceMs = minutes(5)

/** Waits for the end of `init`. @throws DeployFailure when it fails */
export async function initDone(context: StepContext, workload: Workload): Promise<void> {
  const { pace, signal } = context
  await until(
    async () => {
      const init = (await context.hands.look()).of(workload.id).find((o) => isInit({ name: o.container }))
      if (init?.state === 'failed' || (init?.state === 'finished' && init.exitCode !== 0))
        throw await broken(context, init, 'Mend what it does, usually a migration, and deploy again.')
      return init?.state === 'finished' ? init : null
    },
    pace.pollMs,
    signal,
  )
}

/** Waits until every api replica answers. @throws DeployFailure when one cannot be made to */
export async function apisAnswer(context: StepContext, workload: Workload): Promise<void> {
  const apis = workload.containers.filter(isApi)
  if (apis.length > 0) await steadily(context, workload, apis, 0)
}

/**
 * Waits until every api replica answers and every processor runs or has finished its work, all of them for a while: many a
 * program shows its metrics or answers once, and falls over its first batch or query.
 * @throws DeployFailure when one does not
 */
export async function allSteady(context: StepContext, workload: Workload, provenMs: number): Promise<void> {
  await steadily(
    context,
    workload,
    workload.containers.filter((c) => !isInit(c)),
    provenMs,
  )
}

/** One run of a program: since when it was seen, and since when it answers. */
type Run = { restarts: number; sinceMs: number; answersSinceMs: number | null }

/** @throws DeployFailure */
async function steadily(
  context: StepContext,
  workload: Workload,
  containers: ContainerSpec[],
  provenMs: number,
): Promise<void> {
  const { app, pace, hands, signal } = context
  const runs = new Map<string, Run>()
  const giveUpAtMs = app.clock.now().getTime() + patienceMs
  await until(
    async () => {
      const observations = (await hands.look()).of(workload.id)
      const states = await Promise.all(
        containers.map(async (c) => {
          const o = observations.find((x) => x.container === c.name)
          return o !== undefined && (await isSteady(context, o, runs, provenMs))
        }),
      )
      const unsteady = containers.find((_, index) => !states[index])
      if (!unsteady) return 'steady'
      if (app.clock.now().getTime() < giveUpAtMs) return null
      throw new DeployFailure('REQUIREMENTS', `${complaint(unsteady)} It was given ${patienceMs / 60_000} minutes.`)
    },
    pace.pollMs,
    signal,
  )
}

const complaint = (c: ContainerSpec) =>
  isApi(c)
    ? `${c.name} does not answer HTTP on port ${apiPort}. It must listen on the port of the environment variable GRAPHQL_SERVER_PORT.`
    : `${c.name} does not keep running.`

async function isSteady(context: StepContext, o: Observation, runs: Map<string, Run>, provenMs: number) {
  const api = isApi({ name: o.container })
  // A processor with a last block may have done its work (contract 4.1). Where its chain is, the observing worker knows.
  if (o.state === 'finished' && !api) return hasFinished(context.app.runtime, o, () => false)
  await refuseCrashing(context, o)
  if (o.state !== 'running') return false
  const nowMs = context.app.clock.now().getTime()
  const known = runs.get(o.container)
  const run = known?.restarts === o.restarts ? known : { restarts: o.restarts, sinceMs: nowMs, answersSinceMs: null }
  runs.set(o.container, run)
  if (!api && nowMs - run.sinceMs >= context.pace.steadyMs) return true
  const endpoint = context.app.directory.endpoint(o.workload, o.container, api ? apiPort : metricsPort)
  const answers = endpoint !== null && (api ? (await probeApi(endpoint)) === null : await metricsAnswer(endpoint))
  run.answersSinceMs = answers ? (run.answersSinceMs ?? nowMs) : null
  return run.answersSinceMs !== null && nowMs - run.answersSinceMs >= provenMs
}

/** Whatever they say: the programs of other SDKs say it in other words. */
const metricsAnswer = (endpoint: Endpoint): Promise<boolean> =>
  askContainer(endpoint, { method: 'GET', path: '/metrics', timeoutMs: 2_000 }).then(
    () => true,
    () => false,
  )

/** @throws DeployFailure */
async function refuseCrashing(context: StepContext, o: Observation): Promise<void> {
  if (o.state === 'failed') throw await broken(context, o, 'Check its command in the manifest.')
  const isGivenUp = o.state === 'backoff' ? o.restarts >= crashesForgiven : o.restarts > crashesForgiven
  const advice = isApi({ name: o.container }) && o.exitCode === 0 ? 'It must keep running to answer requests.' : mend
  if (isGivenUp) throw await broken(context, o, advice)
}

/** What is told of a container that does not do: its last lines in the log, then the sentence that ends it. */
async function broken(context: StepContext, o: Observation, advice: string): Promise<DeployFailure> {
  const lines = await context.app.runtime.tail(o.workload, o.container, tailLines)
  if (lines.length > 0) context.journal.warn(`The last lines of ${o.container}:`)
  for (const line of lines) context.journal.output('warn', `${o.container} | ${line}`)
  return new DeployFailure('REQUIREMENTS', `${o.container} ${howItEnded(o)}. ${advice}`)
}

function howItEnded(o: Observation): string {
  if (o.outOfMemory)
    return 'was killed because it used more memory than its profile has; choose a larger one under `scale` in the manifest'
  if (o.state === 'failed') return `cannot be started${o.reason ? `: ${o.reason.replace(/\.$/, '')}` : ''}`
  const times = o.restarts > 0 ? `, the last of ${o.restarts + 1} tries` : ''
  const although = o.exitCode === 0 && !isApi({ name: o.container }) ? ' although its chain goes on' : ''
  return `ended with exit code ${o.exitCode ?? 'unknown'}${although}${times}`
}
