import type { SecretChange } from '@shoal/contract'
import type { App } from '../../app.ts'
import { invalid, invalidField, refuse } from '../../errors.ts'
import { deleteSecret, listSealedValues, listSecrets, lockSecret, saveSecret, retireSecret } from './store.ts'

/** Maximum number of secrets per organization. */
const maxSecrets = 500

/**
 * Maximum total size in bytes of an organization's names and values, since nearly all are passed to each program
 * (`docs/secrets.md`).
 */
const maxBytes = 256_000

/** Maximum number of replaced values per name that are still redacted in logs. */
const maxRetiredPerName = 10

/** The context that binds a sealed value to its row: in another row the value cannot be decrypted. */
export const secretContext = (orgId: number, name: string) => `secret ${orgId} ${name}`

/** Returns all secrets of an organization in plain text. Only for the environment of its containers. */
export async function readSecrets(app: Pick<App, 'db' | 'sealer'>, orgId: number): Promise<Record<string, string>> {
  const rows = await listSecrets(app.db, orgId)
  return Object.fromEntries(
    rows.map(({ name, sealedValue }) => [name, app.sealer.open(sealedValue, secretContext(orgId, name))]),
  )
}

/**
 * Returns all values that programs of the organizations may have: the current ones, and replaced ones, which programs that were
 * started earlier still have. Only for redaction.
 */
export async function readValuesToRedact(
  app: Pick<App, 'db' | 'sealer'>,
  orgIds: number[],
): Promise<{ orgId: number; value: string }[]> {
  const rows = await listSealedValues(app.db, orgIds)
  return rows.map(({ orgId, name, sealedValue }) => ({
    orgId,
    value: app.sealer.open(sealedValue, secretContext(orgId, name)),
  }))
}

/** Returns the names of an organization's secrets, and when each was last set. */
export async function listSecretNames(
  app: Pick<App, 'db'>,
  orgId: number,
): Promise<{ name: string; updatedAt: Date }[]> {
  return (await listSecrets(app.db, orgId)).map(({ name, updatedAt }) => ({ name, updatedAt }))
}

/**
 * Sets and deletes secrets. Applies all changes, or none if one of them is rejected.
 * @throws Refusal 400 for the deletion of an unknown secret or a value with a NUL character, 405 when the secrets would be too many or
 * too large in total
 */
export async function changeSecrets(app: App, orgId: number, userId: number, changes: SecretChange[]): Promise<void> {
  await app.db.transaction(async (tx) => {
    const bytesBefore = await bytesOf(app, tx, orgId)
    for (const change of changes) {
      const name = change.name.trim().toUpperCase()
      const previous = await lockSecret(tx, orgId, name)
      if (previous) await retireSecret(tx, previous, maxRetiredPerName)
      if (change.action === 'DELETE') {
        if (!previous) throw invalid('UNKNOWN_SECRET', `There is no secret "${name.slice(0, 100)}".`)
        await deleteSecret(tx, orgId, name)
        continue
      }
      // An environment variable cannot contain NUL.
      if (change.value.includes('\0')) throw invalidField('value', 'The value must not contain a NUL character')
      await saveSecret(tx, {
        orgId,
        name,
        sealedValue: app.sealer.seal(change.value, secretContext(orgId, name)),
        updatedAt: app.clock.now(),
        updatedBy: userId,
      })
    }
    if ((await listSecrets(tx, orgId)).length > maxSecrets)
      throw refuse('TOO_MANY_SECRETS', `An organization may have ${maxSecrets} secrets. Delete some first.`)
    const bytes = await bytesOf(app, tx, orgId)
    if (bytes > maxBytes && bytes > bytesBefore)
      throw refuse(
        'SECRETS_TOO_LARGE',
        `The secrets of an organization may have ${maxBytes / 1000} kB in total, because every squid receives all of them; these would have ${Math.ceil(bytes / 1000)} kB. Shorten or delete some.`,
      )
  })
}

async function bytesOf({ sealer }: Pick<App, 'sealer'>, db: App['db'], orgId: number): Promise<number> {
  const secrets = await readSecrets({ db, sealer }, orgId)
  return Object.entries(secrets).reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0)
}
