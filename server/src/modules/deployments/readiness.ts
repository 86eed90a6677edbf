import type { ContainerSpec, PortEndpoint, LastRun, Observation, Workload } from '@shoal/runtime'
import { isHasura, isInit, isServer, metricsPort } from '../containers.ts'
import { type ApiProbe, requestContainer, serverProbeOf, restartUnlessFinished, isCrash } from '../observing/index.ts'
import { minutes } from '../../clock.ts'
import { crashMessage } from './crash-message.ts'
import { DeployFailure } from './failure.ts'
import type { StepContext } from './step.ts'
import { pollUntil } from './wait.ts'
import { createWaitReport, sentenceOf, showLastLines, type PendingContainer, type WaitReport } from './wait-report.ts'

const tailLines = 50
/** A program has failed after this many runs with the same exit code and cause; one may crash because another program is not ready. */
const maxSameCrashes = 2
const fixAndRedeploy = 'Fix it and deploy again.'
const readinessTimeoutMs = minutes(5)

/** Waits for the end of `init`. @throws DeployFailure when it fails */
export async function waitForInit(context: StepContext, workload: Workload): Promise<void> {
  const { intervals, signal } = context
  const report = createWaitReport(context)
  const nowMs = () => context.app.clock.now().getTime()
  let startingSinceMs: number | null = null
  await pollUntil(
    async () => {
      const observations = await context.engine.snapshots.of(workload.id)
      const init = observations.find((observation) => isInit({ name: observation.container }))
      if (init?.state === 'failed' || (init?.state === 'finished' && init.lastRun?.how !== 'done'))
        throw await crashFailure(context, init, 'Fix it (usually a migration) and deploy again.')
      if (init?.state === 'finished') return init
      if (!init) return null
      const pending = pendingOf(init, init.state === 'running' ? 'It is running.' : startingProblem(init))
      if (init.state === 'running') startingSinceMs = null
      else startingSinceMs ??= nowMs()
      // `init` may run for hours, but it must start.
      if (startingSinceMs !== null && nowMs() - startingSinceMs >= readinessTimeoutMs)
        throw await timedOut(context, [pending])
      await report.update([pending])
      return null
    },
    intervals.pollMs,
    signal,
  )
}

/** Waits until every replica of the api and of Hasura responds. @throws DeployFailure when one fails or does not respond in time */
export async function waitForServers(context: StepContext, workload: Workload): Promise<void> {
  const servers = workload.containers.filter(isServer)
  if (servers.length > 0) await waitUntilHealthy(context, workload, servers, 0)
}

/**
 * Waits until every replica of the api and of Hasura responds, and every processor runs or has finished its work. Each must have done so
 * for `healthyForMs`, because many programs respond once and then crash on their first batch or query.
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

/** A run of a program, with the time at which it was first observed and the time since which it responds. */
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
  const crashes = new Map<string, Set<string>>()
  const report = createWaitReport(context)
  const timeoutAtMs = app.clock.now().getTime() + readinessTimeoutMs
  await pollUntil(
    async () => {
      const observations = await engine.snapshots.of(workload.id)
      const states = await Promise.all(
        containers.map(async ({ name }) => {
          const observation = observations.find((x) => x.container === name)
          if (observation) return await checkContainer(context, observation, { runs, crashes, report, healthyForMs })
          return { workload: workload.id, container: name, problem: 'It does not exist yet.', responseText: null }
        }),
      )
      const pending = states.filter((state) => state !== null)
      if (pending.length === 0) return 'healthy'
      if (app.clock.now().getTime() >= timeoutAtMs) throw await timedOut(context, pending)
      await report.update(pending)
      return null
    },
    intervals.pollMs,
    signal,
  )
}

async function timedOut(context: StepContext, pending: PendingContainer[]): Promise<DeployFailure> {
  for (const item of pending) await showLastLines(context, item, tailLines)
  const sentences = await Promise.all(pending.map((item) => sentenceOf(context, item)))
  return new DeployFailure(
    'REQUIREMENTS',
    `${sentences.join(' ')} Timed out after ${readinessTimeoutMs / 60_000} minutes.`,
  )
}

/** `crashes` contains the ids of the runs that crashed, by container, exit code and cause. */
type ReadinessState = {
  runs: Map<string, ProgramRun>
  crashes: Map<string, Set<string>>
  report: WaitReport
  healthyForMs: number
}

/** Returns why a container is not ready; null when it is healthy. @throws DeployFailure when it failed */
async function checkContainer(
  context: StepContext,
  observation: Observation,
  state: ReadinessState,
): Promise<PendingContainer | null> {
  const isServerProgram = isServer({ name: observation.container })
  // A processor with a last block may have finished its work.
  if (observation.state === 'finished' && !isServerProgram)
    return await checkFinished(context, observation, state.report)
  if (observation.state === 'failed') throw await crashFailure(context, observation, checkAdviceOf(observation))
  await checkCrashes(context, observation, state)
  if (observation.state === 'backoff') return pendingOf(observation, 'It crashed and is being restarted.')
  if (observation.state !== 'running') return pendingOf(observation, startingProblem(observation))
  const nowMs = context.app.clock.now().getTime()
  const run = runOf(observation, state.runs, nowMs)
  if (!isServerProgram && nowMs - run.sinceMs >= context.intervals.minUptimeMs) return null
  const { problem, responseText } = await probe(context, observation)
  if (problem !== null) {
    run.respondsSinceMs = null
    return { ...pendingOf(observation, problem), responseText }
  }
  run.respondsSinceMs ??= nowMs
  return nowMs - run.respondsSinceMs >= state.healthyForMs
    ? null
    : pendingOf(observation, 'It responds, but not for long enough yet.')
}

const checkAdviceOf = ({ container }: Observation): string =>
  isHasura({ name: container }) ? 'Contact the operator of this installation.' : 'Check its command in the manifest.'

/** Returns null if the processor has finished its work, as opposed to a crash with exit code 0. */
async function checkFinished(
  context: StepContext,
  observation: Observation,
  report: WaitReport,
): Promise<PendingContainer | null> {
  const { workload, container, lastRun } = observation
  await report.reportEnd(observation, `${container} ended with exit code ${lastRun?.exitCode ?? 'unknown'}.`)
  // In a new generation every run before the last one crashed.
  const ended = { workload, container, crashesInARow: lastRun?.ordinal ?? 0 }
  const isDone = await restartUnlessFinished(context.app.runtime, ended, () => false)
  return isDone ? null : pendingOf(observation, 'It ended and is being restarted.')
}

/** @throws DeployFailure when the container crashed too often in the same way */
async function checkCrashes(context: StepContext, observation: Observation, state: ReadinessState): Promise<void> {
  const { container, lastRun } = observation
  if (!lastRun || !isCrash(lastRun.how)) return
  await failIfCrashing(context, observation, countSameCrashes(state.crashes, container, lastRun))
  await state.report.reportEnd(observation, `${container} ${crashMessage(observation)}. It is being restarted.`)
}

/** Returns the record of the current run of a container; starts a new one when the run has changed. */
function runOf({ container, run }: Observation, runs: Map<string, ProgramRun>, nowMs: number): ProgramRun {
  const previous = runs.get(container)
  const current: ProgramRun =
    previous && previous.id === run?.id ? previous : { id: run?.id, sinceMs: nowMs, respondsSinceMs: null }
  runs.set(container, current)
  return current
}

async function probe({ app }: StepContext, { workload, container }: Observation): Promise<ApiProbe> {
  const { port, request } = isServer({ name: container })
    ? serverProbeOf(container)
    : { port: metricsPort, request: requestMetrics }
  const endpoint = app.directory.endpoint(workload, container, port)
  return endpoint === null ? noEndpoint : await request(endpoint)
}

/** The reason why a container has not started yet, as the runtime reports it. */
const startingProblem = ({ reason }: Observation): string =>
  reason ? `${reason.replace(/\.$/, '')}.` : 'It is starting.'

const pendingOf = ({ workload, container }: Observation, problem: string): PendingContainer => ({
  workload,
  container,
  problem,
  responseText: null,
})

/** Records the crash and returns how many runs of the container crashed in the same way. */
function countSameCrashes(
  crashes: Map<string, Set<string>>,
  container: string,
  { id, exitCode, how }: LastRun,
): number {
  const key = `${container} ${exitCode} ${how}`
  const runs = crashes.get(key) ?? new Set()
  crashes.set(key, runs.add(id))
  return runs.size
}

const noEndpoint: ApiProbe = { problem: 'It cannot be reached.', responseText: null }

/** Requests the metrics. Any response is accepted, because metric names differ between SDKs. */
const requestMetrics = (endpoint: PortEndpoint): Promise<ApiProbe> =>
  requestContainer(endpoint, { method: 'GET', path: '/metrics', timeoutMs: 2_000 }).then(
    () => ({ problem: null, responseText: null }),
    () => ({ problem: 'It is running, but does not serve its metrics yet.', responseText: null }),
  )

/** @throws DeployFailure */
async function failIfCrashing(context: StepContext, observation: Observation, count: number): Promise<void> {
  if (count < maxSameCrashes) return
  const hasReturned = isServer({ name: observation.container }) && observation.lastRun?.exitCode === 0
  throw await crashFailure(
    context,
    observation,
    hasReturned ? 'It must keep running to serve requests.' : fixAndRedeploy,
  )
}

/** Logs the container's last lines, then returns the failure that ends the deployment. */
async function crashFailure(context: StepContext, observation: Observation, advice: string): Promise<DeployFailure> {
  await showLastLines(context, observation, tailLines)
  return new DeployFailure('REQUIREMENTS', `${observation.container} ${crashMessage(observation)}. ${advice}`)
}
