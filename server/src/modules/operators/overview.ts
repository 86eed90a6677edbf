import type { Contract, PayloadInputOf } from '@shoal/contract'
import type { App } from '../../app.ts'
import { listReplicas } from '../../installation/replicas-store.ts'
import { connectionCounts } from '../databases/index.ts'
import { findingsOf } from './findings.ts'
import { isAlive } from './replicas.ts'
import { listCertificates, listRunning } from './running-store.ts'

type Overview = PayloadInputOf<Contract['operators']['getOverview']>

const maxStatements = 20

/** Returns the state of the installation, and what does not work in it. */
export async function readOverview(
  app: Pick<App, 'db' | 'clock' | 'config' | 'database' | 'squidsDatabase'>,
): Promise<Overview> {
  const [replicas, running, ordered, postgres] = await Promise.all([
    listReplicas(app.db),
    listRunning(app.db),
    listCertificates(app.db),
    readPostgres(app),
  ])
  const alive = replicas.filter(isAlive)
  const fromFiles = alive.flatMap(({ name, report: { certificateUntil } }) =>
    certificateUntil === null
      ? []
      : [{ name: `files of ${name}`, validUntilMs: Date.parse(certificateUntil), failures: 0, lastError: null }],
  )
  const certificates = [...fromFiles, ...ordered]
  const backups = replicas.flatMap(({ report: { lastBackupAt } }) =>
    lastBackupAt === null ? [] : [Date.parse(lastBackupAt)],
  )
  const backup = {
    at: backups.length > 0 ? new Date(Math.max(...backups)) : null,
    isExternal: app.config.DATABASE_URL !== undefined,
  }
  const [oldest] = running
  return {
    findings: findingsOf({ now: app.clock.now(), replicas, running, postgres, backup, certificates }),
    replicas: replicas.map(({ report, silentMs, ...replica }) => ({
      ...replica,
      ...report,
      isAlive: isAlive({ silentMs }),
    })),
    deployments: {
      running: running.filter(({ worker }) => worker !== null).length,
      queued: running.filter(({ worker }) => worker === null).length,
      oldestAt: oldest ? new Date(oldest.createdMs) : null,
    },
    postgres,
    statements: alive
      .flatMap(({ name, report }) => report.statements.map((statement) => ({ ...statement, replica: name })))
      .sort((a, b) => b.meanMs * b.calls - a.meanMs * a.calls)
      .slice(0, maxStatements),
    backup,
    certificates: certificates.map(({ name, validUntilMs, lastError }) => ({
      name,
      validUntil: validUntilMs === null ? null : new Date(validUntilMs),
      error: lastError,
    })),
  }
}

/** Reads the connections of the control plane's Postgres, and of that of squids unless it is the same. */
async function readPostgres({ config, database, squidsDatabase }: Pick<App, 'config' | 'database' | 'squidsDatabase'>) {
  const read = async (name: string, isEmbedded: boolean, of: App['database']) => ({
    name,
    isEmbedded,
    connections: await connectionCounts({ squidsDatabase: of }).catch(() => null),
  })
  const isEmbedded = config.DATABASE_URL === undefined
  if (squidsDatabase === database) return [await read('Postgres', isEmbedded, database)]
  return await Promise.all([
    read('Postgres of Shoal', isEmbedded, database),
    read('Postgres of squids', isEmbedded && config.SHOAL_SQUIDS_DATABASE_URL === undefined, squidsDatabase),
  ])
}
