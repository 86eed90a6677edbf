import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { outOfDisk } from '../../build/build-failures.ts'
import type { BuildPlan } from '../../build/build-image.ts'
import type { BuilderContext } from '../../build/build-work.ts'
import { packTree } from '../../build/pack-tree.ts'
import { BuildFailure } from '../../builder.ts'
import { ClusterUnreachable, KubeError } from '../client/kube-error.ts'
import { buildName, namespaceOf } from '../names.ts'
import { readAttempt } from './attempt-state.ts'
import type { BuildActions } from './build-actions.ts'
import { readBuildEvents } from './build-events.ts'
import type { BuildAttempt } from './build-objects.ts'
import { BuildProgress } from './build-progress.ts'
import {
  type DependencyTrees,
  LostConnection,
  type ResultTree,
  receiveDependencies,
  receiveTree,
} from './build-results.ts'
import type { BuildContainer } from './build-server.ts'
import type { BuildJobs } from './build-jobs.ts'

/** The input of an attempt. */
export type AttemptContext = {
  jobs: BuildJobs
  context: BuilderContext
  plan: BuildPlan
  actions: BuildActions
  /** The folder of the cached dependencies; null: they are not cached. */
  cachedModules: string | null
  /** Stores the dependencies that the install container has sent. */
  onDependencies: (trees: DependencyTrees) => Promise<void>
  /** An existing folder for the archives that the containers send. */
  dir: string
  /** The image of the containers. */
  image: string
  /** When the build must have ended, by `performance.now()`; set by the first attempt that starts. */
  deadline: { at: number | null }
}

/** An attempt that the cluster ended. Another one may succeed. `message`: a sentence without a full stop. */
export class InterruptedAttempt extends Error {
  override name = 'InterruptedAttempt'
}

const POLL_MS = 1000
/** Time in which the cluster must start a pod; an autoscaler may have to add a host. */
const START_LIMIT_MS = 10 * 60_000
/** A container that has sent nothing for this long is lost: it sends an event at least every five seconds. */
const LOST_AFTER_MS = 120_000
/** The worker deletes the Job of an attempt long before the cluster ends it, unless no worker runs. */
const DEADLINE_MARGIN_S = 300
/** The number of polls after the end of a pod during which its last events may still arrive. */
const POLLS_AFTER_END = 3

/** Runs the containers of a build once. Resolves with the app that they sent. @throws BuildFailure, InterruptedAttempt */
export async function runAttempt(attempt: AttemptContext): Promise<ResultTree> {
  const { jobs, plan, actions } = attempt
  const { signal, limits, key, tenant } = plan.request
  const outcome = Promise.withResolvers<ResultTree>()
  // The promise may be rejected before anything awaits it.
  outcome.promise.catch(() => undefined)
  const progress = new BuildProgress(plan, [...(actions.install ?? []), ...actions.build], outcome.reject)
  const containers = containersOf(attempt, progress, outcome)
  const admitted = containers.map((container) => jobs.server.admit(container))
  const [build, install] = admitted.toReversed().map(({ token }) => token)
  const job: BuildAttempt = {
    installation: jobs.options.installation,
    tenant,
    key,
    name: buildName(key, randomBytes(4).toString('hex')),
    image: attempt.image,
    url: jobs.url,
    tokens: { install: install ?? null, build: build ?? '' },
    limits,
    deadlineSeconds: Math.ceil((limits.timeMs + START_LIMIT_MS) / 1000) + DEADLINE_MARGIN_S,
  }
  const ending = new AbortController()
  const onAbort = () => outcome.reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    await jobs.create(job, plan.log, signal)
    watch(attempt, job, progress, ending.signal).catch(outcome.reject)
    return await outcome.promise
  } finally {
    ending.abort()
    signal.removeEventListener('abort', onAbort)
    for (const { revoke } of admitted) revoke()
    await jobs.remove(job)
  }
}

function containersOf(
  { context, plan, actions, cachedModules, onDependencies, dir }: AttemptContext,
  progress: BuildProgress,
  outcome: PromiseWithResolvers<ResultTree>,
): BuildContainer[] {
  const receiving = { limits: plan.request.limits, trees: context.trees }
  /** A lost connection does not say why the container ended: `watch` reads that from the cluster. */
  const reportFailure = (error: unknown): never => {
    if (!(error instanceof LostConnection)) outcome.reject(error)
    throw error
  }
  let app: ResultTree | null = null
  const receiveApp: ReturnType<BuildContainer['receive']> = async (archive) => {
    app = await receiveTree(archive, join(dir, 'app'), receiving).catch(reportFailure)
  }
  const receiveModules: ReturnType<BuildContainer['receive']> = async (archive) => {
    await receiveDependencies(archive, join(dir, 'dependencies'), receiving).then(onDependencies).catch(reportFailure)
  }
  const openSource = () => packTree(plan.source, 'compressed')
  const build: BuildContainer = {
    actions: actions.build,
    open: (name) => {
      if (name === 'source') return openSource()
      return name === 'dependencies' && cachedModules !== null ? packTree(cachedModules, 'plain') : null
    },
    receive: (name) => (name === 'app' ? receiveApp : null),
    readEvents: async (events) => {
      const isDone = await readBuildEvents(events, progress)
      if (isDone && app !== null) outcome.resolve(app)
      return isDone && app !== null
    },
  }
  if (actions.install === null) return [build]
  const install: BuildContainer = {
    actions: actions.install,
    open: (name) => (name === 'source' ? openSource() : null),
    receive: (name) => (name === 'dependencies' ? receiveModules : null),
    readEvents: (events) => readBuildEvents(events, progress),
  }
  return [install, build]
}

/** Rejects when the attempt has failed for a reason that its containers cannot report. Resolves when `signal` is aborted. */
async function watch(
  { jobs, plan, deadline }: AttemptContext,
  job: BuildAttempt,
  progress: BuildProgress,
  signal: AbortSignal,
): Promise<void> {
  const { request, log } = plan
  const namespace = namespaceOf(jobs.options.installation, request.tenant)
  const createdAt = performance.now()
  let lastReason: string | null = null
  let pollsAfterEnd = 0
  while (!signal.aborted) {
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined)
    const now = performance.now()
    if (progress.lastDataAt !== null && deadline.at === null) {
      deadline.at = now + request.limits.timeMs
      await request.onStart?.()
    }
    if (deadline.at !== null && now > deadline.at) throw progress.explain({ timedOut: true })
    const state = await readAttempt(jobs.client, namespace, job.name).catch((error: unknown) => {
      if (error instanceof ClusterUnreachable || (error instanceof KubeError && error.status >= 429)) return null
      throw error
    })
    if (signal.aborted || state === null) continue
    if (state.kind === 'deleted') {
      // Otherwise two workers would delete each other's Jobs.
      if (await jobs.hasOther(job).catch(() => false))
        throw new BuildFailure('UNEXPECTED', 'Another worker has started this build.')
      throw new InterruptedAttempt('The Job of the build was deleted in the cluster')
    }
    if (state.kind === 'starting') {
      if (state.reason !== null && state.reason !== lastReason) log.info(`The build waits. ${state.reason}`)
      lastReason = state.reason ?? lastReason
      if (now - createdAt > START_LIMIT_MS)
        throw new BuildFailure(
          'UNEXPECTED',
          `The build could not start within ${START_LIMIT_MS / 60_000} minutes. ${lastReason ?? ''}`.trim(),
        )
    }
    if (state.kind === 'running' && progress.lastDataAt !== null && now - progress.lastDataAt > LOST_AFTER_MS)
      throw new InterruptedAttempt('The host of the build does not respond')
    if (state.kind !== 'ended') continue
    if (state.how === 'evicted') throw new InterruptedAttempt('The host of the build stopped it')
    pollsAfterEnd += 1
    if (pollsAfterEnd < POLLS_AFTER_END) continue
    if (state.how === 'out of memory') throw progress.explain({ outOfMemory: true })
    if (state.how === 'out of disk') throw outOfDisk('The build', request.limits)
    throw progress.lastDataAt === null
      ? new InterruptedAttempt(`The build cannot connect to the worker at ${job.url}`)
      : new BuildFailure('SOURCE_FILES_BUILD_FAILED', 'The build ended before it sent its result. Deploy again.')
  }
}
