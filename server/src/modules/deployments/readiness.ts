import type { Observation, Workload } from '@shoal/runtime'
import { apiPort, isApi, isInit, isProcessor, metricsPort } from '../squids/index.ts'
import { minutes } from '../../clock.ts'
import { DeployFailure } from './failure.ts'
import { apiAnswers, metricsAnswer } from './probe.ts'
import type { StepContext } from './step.ts'
import { until } from './wait.ts'

const tailLines = 50
/** A program may crash this often before it is given up: a peer may just not be there yet. */
const crashesForgiven = 2
const apiPatienceMs = minutes(5)
const processorPatienceMs = minutes(5)

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
export async function apisReady(context: StepContext, workload: Workload): Promise<void> {
  const names = workload.containers.filter(isApi).map((c) => c.name)
  if (names.length === 0) return
  const ready = async () => {
    const observations = (await context.hands.look()).of(workload.id)
    const states = await Promise.all(names.map((name) => isApiReady(context, workload, name, observations)))
    return states.every(Boolean)
  }
  await patiently(
    context,
    ready,
    apiPatienceMs,
    () =>
      `The api does not answer HTTP on port ${apiPort}. It must listen on the port of the environment variable GRAPHQL_SERVER_PORT.`,
  )
}

type Runs = Map<string, { restarts: number; sinceMs: number }>

/**
 * Waits until every processor runs steadily or has finished its work. Metrics alone do not prove much: many a processor shows
 * them and falls over its first batch, so it must also have run for `provenMs`.
 * @throws DeployFailure when one does not
 */
export async function processorsSteady(context: StepContext, workload: Workload, provenMs: number): Promise<void> {
  const names = workload.containers.filter(isProcessor).map((c) => c.name)
  const runs: Runs = new Map()
  const ready = async () => {
    const observations = (await context.hands.look()).of(workload.id)
    const states = await Promise.all(
      names.map((name) => {
        const o = observations.find((x) => x.container === name)
        return o ? isProcessorSteady(context, o, runs, provenMs) : false
      }),
    )
    return states.every(Boolean)
  }
  await patiently(context, ready, processorPatienceMs, () => 'A processor does not keep running.')
}

async function isApiReady(context: StepContext, workload: Workload, name: string, observations: Observation[]) {
  const o = observations.find((x) => x.container === name)
  if (!o) return false
  if (o.state === 'finished') throw await broken(context, o, 'It must keep running to answer requests.')
  await refuseCrashing(context, o)
  const endpoint = o.state === 'running' ? context.app.driver.endpoint(workload.id, name, apiPort) : null
  return endpoint !== null && (await apiAnswers(endpoint))
}

async function isProcessorSteady(context: StepContext, o: Observation, runs: Runs, provenMs: number): Promise<boolean> {
  // A finite block range: it has done its work (contract 4.1).
  if (o.state === 'finished') return true
  await refuseCrashing(context, o)
  if (o.state !== 'running') return false
  const nowMs = context.app.clock.now().getTime()
  const known = runs.get(o.container)
  const run = known?.restarts === o.restarts ? known : { restarts: o.restarts, sinceMs: nowMs }
  runs.set(o.container, run)
  if (nowMs - run.sinceMs >= context.pace.steadyMs) return true
  if (nowMs - run.sinceMs < provenMs) return false
  const endpoint = context.app.driver.endpoint(o.workload, o.container, metricsPort)
  return endpoint !== null && (await metricsAnswer(endpoint))
}

/** @throws DeployFailure */
async function refuseCrashing(context: StepContext, o: Observation): Promise<void> {
  if (o.state === 'failed') throw await broken(context, o, 'Check its command in the manifest.')
  const isGivenUp = o.state === 'backoff' ? o.restarts >= crashesForgiven : o.restarts > crashesForgiven
  if (isGivenUp) throw await broken(context, o, 'Mend it and deploy again.')
}

/** What is told of a container that does not do: its last lines in the log, then the sentence that ends it. */
async function broken(context: StepContext, o: Observation, advice: string): Promise<DeployFailure> {
  const lines = await context.app.driver.tail(o.workload, o.container, tailLines)
  if (lines.length > 0) context.journal.warn(`The last lines of ${o.container}:`)
  for (const line of lines) context.journal.output('warn', `${o.container} | ${line}`)
  return new DeployFailure('REQUIREMENTS', `${o.container} ${howItEnded(o)}. ${advice}`)
}

function howItEnded(o: Observation): string {
  if (o.outOfMemory)
    return 'was killed because it used more memory than its profile has; choose a larger one under `scale` in the manifest'
  if (o.state === 'failed') return `cannot be started${o.reason ? `: ${o.reason.replace(/\.$/, '')}` : ''}`
  const times = o.restarts > 0 ? `, the last of ${o.restarts + 1} tries` : ''
  return `ended with exit code ${o.exitCode ?? 'unknown'}${times}`
}

/** @throws DeployFailure with `complaint` when it is not so in time */
async function patiently(
  { app, pace, signal }: StepContext,
  isSo: () => Promise<boolean>,
  patienceMs: number,
  complaint: () => string,
): Promise<void> {
  const giveUpAtMs = app.clock.now().getTime() + patienceMs
  await until(
    async () => {
      if (await isSo()) return 'so'
      if (app.clock.now().getTime() < giveUpAtMs) return null
      throw new DeployFailure('REQUIREMENTS', `${complaint()} It was given ${patienceMs / 60_000} minutes.`)
    },
    pace.pollMs,
    signal,
  )
}
