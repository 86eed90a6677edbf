import type { App } from '../app.ts'
import type { CliOptions } from './commands.ts'
import { recordAudit } from '../modules/audit/index.ts'
import { servers } from '../modules/databases/index.ts'
import { moveRequests } from '../modules/deployments/index.ts'
import { readOverview } from '../modules/operators/index.ts'
import { findOrgByCode } from '../modules/orgs/index.ts'
import { resolveReference, selectSquid } from '../modules/versions/index.ts'
import type { Command } from './command.ts'

type Result = Promise<Record<string, unknown>>
type Version = { id: number; name: string }

const print = (line: string) => void process.stderr.write(`${line}\n`)

/**
 * Moves the database of the version `--squid` (`organization/name@slot`), or of all versions on the server `--from`, to the server `--to`.
 * First measures and prints how long the processors will not run; with `--estimate`, nothing more. A worker runs the move, so it
 * continues if the command is killed; the same command then shows its progress again.
 */
export async function moveDatabases(app: App, { squid, from, to = '', estimate = false }: CliOptions): Result {
  if ((squid === undefined) === (from === undefined)) throw new Error('Name either --squid or --from.')
  const target = app.databaseHosts.get(to).name
  const versions = squid === undefined ? await versionsOn(app, from ?? '') : [await findVersion(app, squid)]
  if (!estimate) await requireWorker(app)
  const moved: Record<string, unknown>[] = []
  const failures: string[] = []
  for (const version of versions)
    try {
      moved.push({ version: version.name, ...(await moveOne(app, version, { to: target, estimate })) })
    } catch (error) {
      if (versions.length === 1 || !(error instanceof Error)) throw error
      failures.push(`${version.name}: ${error.message}`)
      print(`${version.name}: ${error.message}`)
    }
  if (failures.length > 0)
    throw new Error(
      `${moved.length} databases were ${estimate ? 'estimated' : 'moved'}, ${failures.length} were not:\n${failures.join('\n')}`,
    )
  return { [estimate ? 'estimates' : 'moved']: moved }
}

async function moveOne(app: App, { id, name }: Version, { to, estimate }: { to: string; estimate: boolean }): Result {
  const running = await moveRequests.running(app, id, to)
  if (running) print(`${name} is already being moved.`)
  const cost = running ? null : await moveRequests.measure(app, id, to)
  if (cost) {
    const rate = `${(cost.bytes / 1e6).toFixed(1)} MB at ${(cost.bytesPerSecond / 1e6).toFixed(1)} MB/s`
    const effect = cost.isHibernated ? 'It is hibernated.' : 'Its processors stop for this time; its api responds.'
    print(`${name}: about ${(cost.processorDowntimeMs / 1000).toFixed(1)} s (${rate}). ${effect}`)
    if (estimate) return { ...cost }
  }
  if (estimate) return {}
  const deployment =
    running ?? (await moveRequests.start(app, id, { to, estimateMs: cost?.processorDowntimeMs ?? null }))
  if (!deployment) return { server: to }
  if (!running)
    await recordAudit(app.db, {
      at: app.clock.now(),
      action: 'cli.moveDatabase',
      subject: name,
      after: { server: to, deployment: deployment.id },
    })
  const failure = await moveRequests.follow(app, deployment, (line) => print(`${name}: ${line}`))
  if (failure !== null) throw new Error(failure)
  return {
    server: to,
    deployment: deployment.id,
    estimatedMs: cost === null ? null : Math.round(cost.processorDowntimeMs),
  }
}

async function findVersion(app: App, name: string): Promise<Version> {
  const [code = '', reference = ''] = name.split('/')
  const org = await findOrgByCode(app.db, code)
  const { squid } = org ? await resolveReference(app.db, org.id, reference) : { squid: null }
  if (!squid) throw new Error(`There is no version ${name}. Write it as organization/name@slot.`)
  return { id: squid.id, name }
}

async function versionsOn(app: App, server: string): Promise<Version[]> {
  const versions: Version[] = []
  for (const id of await servers.moves.listOn(app, server)) {
    const squid = await selectSquid(app.db, id)
    if (squid) versions.push({ id, name: `${squid.name}@${squid.slot} (${id})` })
  }
  return versions
}

/** @throws Error if no worker would run the move */
async function requireWorker(app: App): Promise<void> {
  const { replicas } = await readOverview(app)
  if (!replicas.some(({ isAlive, worker }) => isAlive && worker === 'active'))
    throw new Error(
      'No worker of this installation runs, so the move would not begin. Start the server, and repeat the command.',
    )
}

/** The command that moves an installation to other settings. */
export const moveRuntimeCommand: Record<string, Command> = {
  'move-runtime': {
    runOnFiles: async (config, options) => {
      // Only this command needs the modules that run programs of squids.
      const { moveRuntime } = await import('../move/move-runtime.ts')
      return await moveRuntime(config, options)
    },
    options: ['to'],
    flags: ['dry-run', 'push-images', 'force'],
    summary:
      'move this installation, with the databases of squids, to the settings in the file --to (lines NAME=value), such as from one machine to a cluster or back, while no server runs; --dry-run only checks and estimates, and --push-images only pushes images in advance, both even while a server runs; --force accepts that images are missing',
  },
}
