import type { SecretChange } from '@shoal/contract'
import type { App } from '../../app.ts'
import { invalid, invalidField, refuse } from '../../errors.ts'
import { deleteSecret, listSecrets, putSecret } from './store.ts'

/** How many an organization may have. */
const most = 500

/** A value moved to another row does not open. */
const sealContext = (orgId: number, name: string) => `secret ${orgId} ${name}`

/** All secrets of the organization in clear, for the environment of its containers and nothing else. */
export async function readSecrets(app: Pick<App, 'db' | 'sealer'>, orgId: number): Promise<Record<string, string>> {
  const rows = await listSecrets(app.db, orgId)
  return Object.fromEntries(
    rows.map(({ name, sealedValue }) => [name, app.sealer.open(sealedValue, sealContext(orgId, name))]),
  )
}

/** Names, and when each was last set. */
export async function listSecretNames(
  app: Pick<App, 'db'>,
  orgId: number,
): Promise<{ name: string; updatedAt: Date }[]> {
  return (await listSecrets(app.db, orgId)).map(({ name, updatedAt }) => ({ name, updatedAt }))
}

/**
 * Sets and deletes secrets, all or none.
 * @throws Refusal 400 for the deletion of one that is not there, 405 for too many
 */
export async function changeSecrets(app: App, orgId: number, userId: number, changes: SecretChange[]): Promise<void> {
  await app.db.transaction(async (tx) => {
    for (const change of changes) {
      const name = change.name.trim().toUpperCase()
      if (change.action === 'DELETE') {
        if (!(await deleteSecret(tx, orgId, name)))
          throw invalid('UNKNOWN_SECRET', `There is no secret "${name.slice(0, 100)}".`)
        continue
      }
      // No program can be given such a value.
      if (change.value.includes('\0')) throw invalidField('value', 'The value must not hold a NUL character')
      await putSecret(tx, {
        orgId,
        name,
        sealedValue: app.sealer.seal(change.value, sealContext(orgId, name)),
        updatedAt: app.clock.now(),
        updatedBy: userId,
      })
    }
    if ((await listSecrets(tx, orgId)).length > most)
      throw refuse('TOO_MANY_SECRETS', `An organization may have ${most} secrets. Delete some that are not needed.`)
  })
}
