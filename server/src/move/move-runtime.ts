import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { ProgressReporter } from '../backup/progress.ts'
import { systemClock } from '../clock.ts'
import { trustAuthorities } from '../config/ca-file.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { migrate } from '../db/migrate.ts'
import { lockInstallation } from '../installation/installation-lock.ts'
import { requireNotMoved } from '../installation/move-mark.ts'
import { servers } from '../modules/databases/index.ts'
import { copyInstallation, finishMove } from './copy.ts'
import { moveImages } from './images.ts'
import { appOf, makePlan, type MovePlan, type MovingApp } from './plan.ts'
import { checkTarget, readState, requireUnused } from './preconditions.ts'
import { stopPrograms } from './programs.ts'
import { openSide, targetName, type Side } from './side.ts'
import { errorCodeOf } from '../config/invalid-setting.ts'

type MoveOptions = {
  to: string
  dryRun: boolean
  pushImages: boolean
  force: boolean
  progress: Pick<ProgressReporter, 'step'>
  signal: AbortSignal
}

/**
 * Moves the installation to the settings in the file `to`: its control plane with all rows, the databases of squids, and their images. Servers
 * of both settings must be stopped. A move that fails or is interrupted before its last step leaves the installation where it is; the same
 * command then starts the move again, or ends a move that was interrupted in its last step. With `dryRun`, only checks and estimates; with `pushImages`,
 * then pushes images, so that the move takes less time. Both work while a server runs.
 * @throws Error with everything that prevents the move
 */
export async function moveRuntime(config: Config, options: MoveOptions): Promise<Record<string, unknown>> {
  const targetConfig = readTargetConfig(config, options.to)
  trustAuthorities(targetConfig)
  await using cleanup = new AsyncDisposableStack()
  // Postgres is stopped last, and only by a process that can lock the installation itself.
  const sides: Side[] = []
  let isMoveComplete = false
  cleanup.defer(async () => {
    for (const [index, side] of sides.entries()) await side.close(isMoveComplete && index === 0 ? 'stop' : 'as-found')
  })
  if (!keepsRunning(options))
    for (const { dataDir } of new Map([config, targetConfig].map((each) => [each.dataDir, each])).values()) {
      const lock = await lockInstallation({ ...config, dataDir }, { exclusive: true, roles: [] })
      cleanup.defer(lock.release)
    }
  for (const each of [config, targetConfig]) sides.push(await openSide(each))
  const [source, target] = sides
  if (!source || !target) throw new Error('Both sides must be open')
  const result = await move(source, target, options)
  isMoveComplete = 'moved' in result
  return result
}

const keepsRunning = ({ dryRun, pushImages }: MoveOptions): boolean => dryRun || pushImages

async function move(source: Side, target: Side, options: MoveOptions): Promise<Record<string, unknown>> {
  const { progress, signal } = options
  const app = appOf(source, target)
  if (!keepsRunning(options)) for (const side of [source, target]) await requireUnused(side)
  const isSameServer = await servers.copies.isSameServer(source.database, target.database)
  if (isSameServer && nameOf(source) === nameOf(target))
    throw new Error(
      'Both settings have the same database of the control plane. Create another database, which may be on the same server, for the DATABASE_URL of the target.',
    )
  await migrate(source.database.pool)
  const states = { source: await readState(source), target: await readState(target) }
  const isUnfinished = states.source.mark?.state === 'departed' && states.source.mark.id === states.target.mark?.id
  if (isUnfinished && states.target.mark) {
    const { id, details } = states.target.mark
    if (keepsRunning(options))
      return {
        unfinished: 'The move was interrupted in its last step. The same command without other options ends it.',
      }
    const { versions } = await finishMove(source, target, app, { id, details }, progress.step)
    return { moved: target.location, versions, notes: notesOf(source) }
  }
  await requireNotMoved(source.database.db)
  checkTarget(states)
  const startedMs = performance.now()
  progress.step('Checking both places')
  const plan = await makePlan(source, target, options.force)
  const summary = { from: source.location, to: target.location, ...(await summarize(app, plan)) }
  for (const line of describe(summary)) progress.step(line)
  if (plan.refusals.length > 0)
    throw new Error(
      `The installation cannot be moved. Nothing was changed.\n${plan.refusals.map((text) => `- ${text}`).join('\n')}`,
    )
  if (options.dryRun) return summary
  // The worker pushes its images itself, and only one process may use the records of images in a registry.
  if (options.pushImages && source.config.registry)
    return {
      pushed: 0,
      notes: ['Workers with the current settings push images themselves, because SHOAL_REGISTRY is set.'],
    }
  if (plan.images.pushed.length > 0) progress.step(`Pushing ${plan.images.pushed.length} images to the registry`)
  const images = await moveImages(source, target, plan.images, {
    onPushed: (done, all) => progress.step(`Pushed ${done} of ${all} images`),
    signal,
  })
  if (options.pushImages) return { pushed: plan.images.pushed.length }
  const stoppedAt = systemClock.now()
  const stoppedMs = performance.now()
  progress.step('Stopping the programs of squids')
  let bytes = 0
  const moveId = randomUUID()
  const stopAndCopy = async () => {
    await stopPrograms(source, states.source.prefix ?? '', signal)
    return await copyInstallation(source, target, app, {
      moveId,
      databases: plan.databases,
      images,
      stoppedAt,
      // A server may have started while images were pushed and databases were copied.
      beforeReplace: async () => {
        for (const side of [source, target]) await requireUnused(side)
        checkTarget({ source: states.source, target: await readState(target) })
      },
      beforeDeparture: () => requireUnused(source),
      step: progress.step,
      onBytes: (more) => (bytes += more),
      signal,
    })
  }
  const { details, ...copied } = await stopAndCopy().catch((error: unknown) => {
    throw signal.aborted ? new Error(interruptedText, { cause: error }) : error
  })
  const { versions } = await finishMove(source, target, app, { id: moveId, details }, progress.step)
  const secondsFrom = (ms: number) => Math.round((performance.now() - ms) / 100) / 10
  return {
    moved: target.location,
    ...copied,
    bytes,
    versions,
    stoppedSeconds: secondsFrom(stoppedMs),
    seconds: secondsFrom(startedMs),
    notes: notesOf(source),
  }
}

const interruptedText =
  'Interrupted while programs of squids were stopped or copied. Start the server with its current settings: it starts the programs again. If it reports that the installation was moved, run this command again instead.'

const nameOf = ({ database }: Side): string => new URL(database.url).pathname

const notesOf = (source: Side): string[] => [
  'Start the server with the settings of the target. Its worker starts all versions again, and its log shows when they run and how long they were down.',
  `${source.location} still has its data, and refuses to start. Delete it when you no longer need it.`,
]

type Summary = {
  from: string
  to: string
  controlPlaneBytes: number
  databases: number
  databaseBytes: number
  databasesThatStay: number
  imagesToPush: number
  runningVersions: number
  estimatedSeconds: number
}

/** Bytes per second that are assumed without a database to measure. */
const assumedRate = 5e6
/** The time in which a worker starts the first versions, and for each further one. */
const startSeconds = { first: 15, each: 2 }

async function summarize(app: MovingApp, plan: MovePlan): Promise<Omit<Summary, 'from' | 'to'>> {
  const copied = plan.databases.filter(({ isCopied }) => isCopied)
  const databaseBytes = copied.reduce((sum, { bytes }) => sum + bytes, 0)
  const [largest] = copied.toSorted((one, other) => other.bytes - one.bytes)
  // A refused move needs no estimate.
  const measured =
    largest && plan.refusals.length === 0
      ? await servers.copies.estimate(app, largest.row, targetName(largest.to))
      : null
  const bytesPerSecond = Math.max(measured?.bytesPerSecond ?? 0, assumedRate)
  return {
    controlPlaneBytes: plan.controlPlaneBytes,
    databases: copied.length,
    databaseBytes,
    databasesThatStay: plan.databases.length - copied.length,
    imagesToPush: plan.images.pushed.length,
    runningVersions: plan.runningVersions,
    estimatedSeconds: Math.ceil(
      (plan.controlPlaneBytes + databaseBytes) / bytesPerSecond +
        copied.length +
        startSeconds.first +
        startSeconds.each * plan.runningVersions,
    ),
  }
}

function describe(summary: Summary): string[] {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
  const stay = summary.databasesThatStay > 0 ? `; ${summary.databasesThatStay} stay on their server` : ''
  return [
    `From ${summary.from}`,
    `To ${summary.to}`,
    `Control plane ${megabytes(summary.controlPlaneBytes)}; ${summary.databases} databases of squids with ${megabytes(summary.databaseBytes)} to copy${stay}; ${summary.imagesToPush} images to push`,
    `${summary.runningVersions} versions run; they will be down for about ${summary.estimatedSeconds} s, until you start the server`,
  ]
}

/**
 * Reads the settings of the target from a file with a line `NAME=value` for each, such as `shoal.env`. Settings that the file does not have are
 * unset, except SHOAL_DATA_DIR, which then is that of the source.
 * @throws Error if the file cannot be read; InvalidSettingError
 */
function readTargetConfig(source: Config, file: string): Config {
  let text: string
  try {
    text = readFileSync(resolve(file), 'utf8')
  } catch (error) {
    throw new Error(`The settings of the target cannot be read from ${file} (${errorCodeOf(error)}).`, { cause: error })
  }
  return loadConfig({ SHOAL_DATA_DIR: source.dataDir, ...source.environment, ...parseEnv(text) })
}
