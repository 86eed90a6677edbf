import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import type { Handlers } from '../call.ts'
import { listSecretNames } from '../secrets/index.ts'
import { willBeGiven } from '../manifest/index.ts'
import { listSecretUsers } from './secret-uses-store.ts'

/** The endpoint that lists the versions using each secret. It belongs to the area `secrets`, but only this module knows the versions. */
export function secretUseHandlers(app: App): Pick<Handlers<Contract['secrets']>, 'listUses'> {
  return {
    listUses: async ({ org }) => {
      const [secrets, users] = await Promise.all([listSecretNames(app, org.id), listSecretUsers(app.db, org.id)])
      return secrets.map((secret) => ({
        ...secret,
        versions: users
          .filter((row) => row.secretNames.includes(secret.name) || willBeGiven(secret.name, row.manifestCurrent))
          .map(({ name, slot, wanted, secretsReadAt }) => ({
            name,
            slot,
            reference: `${name}@${slot}`,
            isOutdated: wanted === 'running' && secretsReadAt !== null && secret.updatedAt > secretsReadAt,
          })),
      }))
    },
  }
}
