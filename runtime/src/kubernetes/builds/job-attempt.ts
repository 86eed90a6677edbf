import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { BuildPlan } from '../../build/build-image.ts'
import type { BuilderContext } from '../../build/build-work.ts'
import { packTree } from '../../build/pack-tree.ts'
import { buildName, namespaceOf } from '../names.ts'
import { readAttempt } from './attempt-state.ts'
import { START_LIMIT_MS, watchAttempt } from './attempt-watch.ts'
import type { BuildActions } from './build-actions.ts'
import { readBuildEvents } from './build-events.ts'
import type { BuildAttempt } from './build-objects.ts'
import { BuildProgress } from './build-progress.ts'
import {
  DEPENDENCIES_ARCHIVE,
  type DependencyTrees,
  LostConnection,
  type ResultTree,
  receiveTree,
  storeArchive,
  unpackReceivedDependencies,
} from './build-results.ts'
import type { BuildContainer } from './build-server.ts'
import type { BuildJobs } from './build-jobs.ts'

/** The input of an attempt. */
export type AttemptContext = {
  jobs: BuildJobs
  context: BuilderContext
  plan: BuildPlan
  actions: BuildActions
  /** The folder of the cached archive of dependencies; null: they are not cached. */
  cachedModules: string | null
  /** Stores the dependencies that the install container has sent. The build script may run at the same time. */
  onDependencies: (trees: DependencyTrees) => Promise<void>
  /** An existing folder for the archives that the containers send. */
  dir: string
  /** The image of the containers. */
  image: string
  /** When the build must have ended, by `performance.now()`; set by the first attempt that starts. */
  deadline: { at: number | null }
}

/** The worker deletes the Job of an attempt long before the cluster ends it, unless no worker runs. */
const DEADLINE_MARGIN_S = 300

/**
 * Runs the containers of a build once. Resolves with the app that they sent, when `onDependencies` has ended.
 * @throws BuildFailure, InterruptedAttempt
 */
export async function runAttempt(attempt: AttemptContext): Promise<ResultTree> {
  const { jobs, plan, actions } = attempt
  const { signal, limits, key, tenant } = plan.request
  const outcome = Promise.withResolvers<ResultTree>()
  // The promise may be rejected before anything awaits it.
  outcome.promise.catch(() => undefined)
  const progress = new BuildProgress(plan, [...(actions.install ?? []), ...actions.build], outcome.reject)
  const { containers, stored } = containersOf(attempt, progress, outcome)
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
    const namespace = namespaceOf(job.installation, tenant)
    const watched = {
      read: () => readAttempt(jobs.client, namespace, job.name),
      hasOther: () => jobs.hasOther(job),
      url: job.url,
      plan,
      progress,
      deadline: attempt.deadline,
    }
    watchAttempt(watched, ending.signal).catch(outcome.reject)
    const app = await outcome.promise
    await stored()
    return app
  } finally {
    ending.abort()
    signal.removeEventListener('abort', onAbort)
    for (const { revoke } of admitted) revoke()
    await jobs.remove(job)
    // Dependencies are stored even if the build script failed, and nothing writes to `dir` afterwards.
    await stored().catch(() => undefined)
  }
}

type Containers = {
  containers: BuildContainer[]
  /** Resolves when the dependencies that were sent are stored. @throws the reason why they are not */
  stored: () => Promise<void>
}

function containersOf(
  { context, plan, actions, cachedModules, onDependencies, dir }: AttemptContext,
  progress: BuildProgress,
  outcome: PromiseWithResolvers<ResultTree>,
): Containers {
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
  let storing = Promise.resolve()
  /** Only receives the archive: the build script need not wait until it is checked and unpacked. */
  const receiveModules: ReturnType<BuildContainer['receive']> = async (archive) => {
    const target = join(dir, 'dependencies')
    await storeArchive(archive, target, receiving).catch(reportFailure)
    storing = unpackReceivedDependencies(target, receiving).then(onDependencies)
    storing.catch(outcome.reject)
  }
  const openSource = () => packTree(plan.source, 'compressed')
  const build: BuildContainer = {
    actions: actions.build,
    open: (name) => {
      if (name === 'source') return openSource()
      const isCached = name === 'dependencies' && cachedModules !== null
      return isCached ? createReadStream(join(cachedModules, DEPENDENCIES_ARCHIVE)) : null
    },
    receive: (name) => (name === 'app' ? receiveApp : null),
    readEvents: async (events) => {
      const isDone = await readBuildEvents(events, progress)
      if (isDone && app !== null) outcome.resolve(app)
      return isDone && app !== null
    },
  }
  const stored = () => storing
  if (actions.install === null) return { containers: [build], stored }
  const install: BuildContainer = {
    actions: actions.install,
    open: (name) => (name === 'source' ? openSource() : null),
    receive: (name) => (name === 'dependencies' ? receiveModules : null),
    readEvents: (events) => readBuildEvents(events, progress),
  }
  return { containers: [install, build], stored }
}
