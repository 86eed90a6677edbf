import type { Contract, PayloadInputOf } from '@shoal/contract'
import type { App } from '../../app.ts'
import { listReplicas } from '../../installation/replicas-store.ts'
import { servers } from '../databases/index.ts'
import { installationFindings } from './findings.ts'
import { isAlive } from './replicas.ts'
import { listCertificates, listUnfinishedRows } from './unfinished-store.ts'
import { readStatistics } from './statements-store.ts'

type Overview = PayloadInputOf<Contract['operators']['getOverview']>

const maxStatements = 20

/** Returns the state of the installation, with its problems. */
export async function readOverview(
  app: Pick<App, 'db' | 'clock' | 'config' | 'database' | 'databaseHosts'>,
): Promise<Overview> {
  const [replicas, unfinished, orderedCertificates, postgres, statistics] = await Promise.all([
    listReplicas(app.db),
    listUnfinishedRows(app.db),
    listCertificates(app.db),
    readPostgres(app),
    readStatistics(app.db, maxStatements),
  ])
  const alive = replicas.filter(isAlive)
  const fileCertificates = alive.flatMap(({ name, report: { certificateUntil } }) =>
    certificateUntil === null
      ? []
      : [{ name: `files of ${name}`, validUntilMs: Date.parse(certificateUntil), failures: 0, lastError: null }],
  )
  const certificates = [...fileCertificates, ...orderedCertificates]
  const backups = replicas.flatMap(({ report: { lastBackupAt } }) =>
    lastBackupAt === null ? [] : [Date.parse(lastBackupAt)],
  )
  const backup = {
    at: backups.length > 0 ? new Date(Math.max(...backups)) : null,
    isExternal: app.config.DATABASE_URL !== undefined,
  }
  const [oldest] = unfinished
  return {
    findings: installationFindings({ now: app.clock.now(), replicas, unfinished, postgres, backup, certificates }),
    replicas: replicas.map(({ report, silentMs, ...replica }) => ({
      ...replica,
      ...report,
      isAlive: isAlive({ silentMs }),
    })),
    deployments: {
      running: unfinished.filter(({ worker }) => worker !== null).length,
      queued: unfinished.filter(({ worker }) => worker === null).length,
      oldestAt: oldest ? new Date(oldest.createdMs) : null,
    },
    postgres,
    statements: statistics
      ? {
          source: 'POSTGRES',
          since: statistics.since,
          list: statistics.list.map((statement) => ({ ...statement, replica: null })),
        }
      : { source: 'PROCESSES', since: null, list: statementsOf(alive) },
    backup,
    certificates: certificates.map(({ name, validUntilMs, lastError }) => ({
      name,
      validUntil: validUntilMs === null ? null : new Date(validUntilMs),
      error: lastError,
    })),
  }
}

/** The statements that the processes measured; the greatest total first. */
const statementsOf = (replicas: Awaited<ReturnType<typeof listReplicas>>) =>
  replicas
    .flatMap(({ name, report }) => report.statements.map((statement) => ({ ...statement, replica: name })))
    .sort((a, b) => b.meanMs * b.calls - a.meanMs * a.calls)
    .slice(0, maxStatements)

/** Reads the connections of the control plane's Postgres, and of each separate Postgres of squids. */
async function readPostgres({ config, database, databaseHosts }: Pick<App, 'config' | 'database' | 'databaseHosts'>) {
  const read = async (name: string, isEmbedded: boolean, database: App['database']) => ({
    name,
    isEmbedded,
    connections: await servers.connectionsOf(database).catch(() => null),
  })
  const isEmbedded = config.DATABASE_URL === undefined
  const isOnly = databaseHosts.all.length === 1
  if (isOnly && databaseHosts.all[0]?.cluster === database) return [await read('Postgres', isEmbedded, database)]
  const squidServers = databaseHosts.all.map(({ name, cluster }) =>
    read(
      isOnly ? 'Postgres of squids' : `Postgres of squids "${name}"`,
      isEmbedded && config.squidServers.length === 0,
      cluster,
    ),
  )
  return await Promise.all([read('Postgres of Shoal', isEmbedded, database), ...squidServers])
}
