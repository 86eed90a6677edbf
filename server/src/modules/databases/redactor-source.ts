import type { App } from '../../app.ts'
import { existingRpcToken } from '../rpc/index.ts'
import { createRedactor, readHiddenValues, type Redactor } from '../secrets/index.ts'
import { ownerConnection, readerConnection } from './database.ts'
import { selectHiddenStamps } from './redaction-store.ts'

/** Returns, for some versions, how to redact the texts that their programs wrote before they are stored or shown. */
export type RedactorSource = (squidIds: number[]) => Promise<(squidId: number) => Redactor>

/** Versions whose redactors a process caches. */
const maxCached = 5_000
const noRedaction: Redactor = (text) => text

/**
 * Redacts the values that the platform knows: secrets of the organization, its RPC token, the passwords of the version's database.
 * Each call runs one query for all its versions. A value is committed before any program can receive it, so a text that contains
 * it is never read before the value is known here.
 */
export function createRedactorSource(app: App): RedactorSource {
  const known = new Map<number, { stamp: string; redactor: Redactor }>()
  return async (squidIds) => {
    const stamps = await selectHiddenStamps(app.db, squidIds)
    const changed = stamps.filter(({ squidId, stamp }) => known.get(squidId)?.stamp !== stamp)
    if (known.size > maxCached) known.clear()
    const ofOrgs = await valuesOfOrgs(app, [...new Set(changed.map(({ orgId }) => orgId))])
    for (const { squidId, orgId, stamp } of changed) {
      const values = [...(ofOrgs.get(orgId) ?? []), ...(await passwordsOf(app, squidId))]
      known.set(squidId, { stamp, redactor: createRedactor(values) })
    }
    return (squidId) => known.get(squidId)?.redactor ?? noRedaction
  }
}

async function valuesOfOrgs(app: App, orgIds: number[]): Promise<Map<number, string[]>> {
  if (orgIds.length === 0) return new Map()
  const secrets = Map.groupBy(await readHiddenValues(app, orgIds), ({ orgId }) => orgId)
  const values = new Map<number, string[]>()
  for (const orgId of orgIds) {
    const token = await existingRpcToken(app, orgId)
    values.set(orgId, [...(secrets.get(orgId) ?? []).map(({ value }) => value), ...(token === null ? [] : [token])])
  }
  return values
}

async function passwordsOf(app: App, squidId: number): Promise<string[]> {
  const connections = await Promise.all([ownerConnection(app, squidId), readerConnection(app, squidId)])
  return connections.flatMap((connection) => (connection ? [connection.password] : []))
}
