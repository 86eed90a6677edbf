import type { App } from '../../app.ts'
import { existingRpcTokens } from '../rpc/index.ts'
import { createRedactor, readValuesToRedact, type Redactor } from '../secrets/index.ts'
import { loginPasswordOf, ownerPasswordOf, readerPasswordOf } from './passwords.ts'
import { selectRedactionStamps, selectSealedLoginPasswords, selectSealedPasswords } from './redaction-store.ts'

/**
 * Returns the redactors of versions, which remove secrets from the output of programs before Shoal stores or displays the output.
 */
export type RedactorLookup = (squidIds: number[]) => Promise<(squidId: number) => Redactor>

const noRedaction: Redactor = (text) => text

/**
 * Returns a lookup of redactors that redact the values that Shoal stores: the secrets of the organization, its RPC token, and the
 * passwords of the version's database. Each call runs one query for all versions, and a few more if any value has changed. Shoal
 * commits a value before a program can receive it, so a redactor always contains the values in the output.
 * @param maxCached number of versions above which the cached redactors are discarded
 */
export function createRedactorLookup(app: App, maxCached = 5_000): RedactorLookup {
  const cached = new Map<number, { stamp: string; redactor: Redactor }>()
  return async (squidIds) => {
    const stamps = await selectRedactionStamps(app.db, squidIds)
    const changed = stamps.filter(({ squidId, stamp }) => cached.get(squidId)?.stamp !== stamp)
    // Copies the redactors from the cache first, because this call and concurrent ones may clear the cache.
    const redactors = new Map(squidIds.map((id) => [id, cached.get(id)?.redactor ?? noRedaction]))
    if (cached.size > maxCached) cached.clear()
    if (changed.length > 0) {
      const valuesByOrg = await valuesOfOrgs(app, [...new Set(changed.map(({ orgId }) => orgId))])
      const passwords = await passwordsOf(
        app,
        changed.map(({ squidId }) => squidId),
      )
      for (const { squidId, orgId, stamp } of changed) {
        const values = [...(valuesByOrg.get(orgId) ?? []), ...(passwords.get(squidId) ?? [])]
        const redactor = createRedactor(values)
        cached.set(squidId, { stamp, redactor })
        redactors.set(squidId, redactor)
      }
    }
    return (squidId) => redactors.get(squidId) ?? noRedaction
  }
}

/** Returns the secrets and the RPC token of each organization. */
async function valuesOfOrgs(app: App, orgIds: number[]): Promise<Map<number, string[]>> {
  const [secrets, tokens] = await Promise.all([readValuesToRedact(app, orgIds), existingRpcTokens(app, orgIds)])
  const values = [...secrets, ...tokens.map(({ orgId, token }) => ({ orgId, value: token }))]
  const byOrg = Map.groupBy(values, ({ orgId }) => orgId)
  return new Map([...byOrg].map(([orgId, entries]) => [orgId, entries.map(({ value }) => value)]))
}

/**
 * Returns the passwords of each version's database: of its owner, of its logins, and of the read-only role if external access is
 * allowed.
 */
async function passwordsOf({ db, sealer }: App, squidIds: number[]): Promise<Map<number, string[]>> {
  const rows = await selectSealedPasswords(db, squidIds)
  const logins = Map.groupBy(await selectSealedLoginPasswords(db, squidIds), ({ squidId }) => squidId)
  return new Map(
    rows.map(({ squidId, sealedReadPassword, ...row }) => [
      squidId,
      [
        ownerPasswordOf(sealer, { squidId, ...row }),
        ...(sealedReadPassword === null ? [] : [readerPasswordOf(sealer, { squidId, sealedReadPassword })]),
        ...(logins.get(squidId) ?? []).map((login) => loginPasswordOf(sealer, login)),
      ],
    ]),
  )
}
